//! The recorded run is what the agent still does: `fixtures/boiler.json` was recorded once, with a model.

use planwright::prelude::*;

#[test]
fn boiler_is_answered_as_it_was_recorded() {
    let agent = fixture_test::agent().expect("a spec");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/boiler.json");
    let run = assert_replays!(path, agent);
    assert_eq!(run.answer(), Some("Kim Ltd serviced it on 3 May."));
    insta::assert_json_snapshot!(run.trace());
}
