//! Where a payload may be cut so that the next turn's begins with the same pieces.

/// The key at which a payload stops being that of the whole thread.
const QUESTION: &str = "\"user_question\":";

/// Cuts a payload before each element of its lists that stand before the question, and before the question. The
/// pieces make up the payload, and a payload whose history has grown begins with the same pieces.
pub(super) fn split_payload(payload: &str) -> Vec<&str> {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let (mut cuts, mut is_list) = (Vec::new(), false);
    for (at, byte) in payload.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' if !in_text && depth == 1 && payload[at..].starts_with(QUESTION) => {
                // The comma before the key belongs to what follows.
                let at = if payload[..at].ends_with(',') { at - 1 } else { at };
                let ends = cuts.into_iter().chain([at]).filter(|at| *at > 1);
                let mut pieces: Vec<&str> = Vec::new();
                let mut from = 0;
                for end in ends {
                    pieces.push(&payload[from..end]);
                    from = end;
                }
                pieces.push(&payload[from..]);
                return pieces;
            }
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => {
                is_list = if depth == 1 { byte == b'[' } else { is_list };
                depth += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                // The end of a list moves as it grows, so it is not part of its last element.
                cuts.extend((depth == 1 && is_list).then_some(at));
            }
            b',' if depth == 2 && is_list => cuts.push(at),
            _ => {}
        }
    }
    vec![payload]
}

#[cfg(test)]
mod tests {
    use super::split_payload;

    #[track_caller]
    fn check(payload: &str, expected: &[&str]) {
        assert_eq!(split_payload(payload), expected);
        assert_eq!(split_payload(payload).concat(), payload);
    }

    #[test]
    fn payload_is_cut_where_the_next_turn_s_parts_from_it() {
        check(r#"{"user_question":"왜?"}"#, &[r#"{"user_question":"왜?"}"#]);
        check(r#"{"task":"x"}"#, &[r#"{"task":"x"}"#]);
        check("no JSON, [1,2", &["no JSON, [1,2"]);
        let one = r#"{"history":[{"q":"a, \"user_question\":"}],"user_question":"b"}"#;
        check(one, &[r#"{"history":[{"q":"a, \"user_question\":"}"#, "]", r#","user_question":"b"}"#]);
        let two = r#"{"history":[{"q":"a, \"user_question\":"},{"q":["c","d"]}],"user_question":"e"}"#;
        assert_eq!(split_payload(two)[..2], [split_payload(one)[0], r#",{"q":["c","d"]}"#]);
        check(
            r#"{"on_behalf_of":"x","user_question":"b"}"#,
            &[r#"{"on_behalf_of":"x""#, r#","user_question":"b"}"#],
        );
    }
}
