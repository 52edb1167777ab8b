//! Promises of the tool `calc`.
#![cfg(feature = "calc")]

use std::time::{Duration, Instant};

use planwright::driver::{Tool, ToolCall, ToolError};
use planwright::tool::Calc;
use serde_json::json;

fn calc(expression: &str) -> Result<String, ToolError> {
    let input = json!(expression);
    let timeout = Some(Duration::from_secs(5));
    Calc::new().call(&ToolCall { input: &input, idempotency_key: "run/1", timeout, max_output_bytes: 4000 })
}

#[test]
fn probe() {
    let s = |s: &str, n: usize| s.repeat(n);
    for e in [
        "345*872".to_string(), "12/4+9".into(), "5 km in miles".into(), "1/3".into(), "１２×３".into(), "1,234*5".into(), "20% of 50".into(),
        "√2".into(), "5 m² in cm²".into(), "5'10 in cm".into(), "100 USD in EUR".into(), "today".into(), "d6".into(), "9^9^9^9".into(), "10^100000".into(), "1000000!".into(),
        "2^100000".into(), "3000!".into(), "1000!".into(), "fib 100000".into(), "fib 10000000".into(), "1/998001 to 1000000000 dp".into(), "pi to 10000000 dp".into(),
        "1/3 to 1000 dp".into(), "sqrt(2) to 3000 dp".into(), "e^1000000".into(), "1000000000 to roman".into(), "10^500 to words".into(), "9^9^9 to words".into(),
        s("(", 60) + "1" + &s(")", 60), s("-", 300)+"1", s("2^", 300)+"2", s("1+", 300)+"1", "3".to_owned()+&s("!", 300), s("sin ", 240)+"1", s("a ", 499), s("5 m ", 240), s("(", 60), s(")", 60),
        s("1 ", 499), s("sqrt ", 199)+"2", s("~", 300), s("not ", 240), s("per ", 240), s("1 to ", 199), s("/ ", 300), s("x=", 300)+"1", s("1;", 300), s("1 + (", 60)+"1"+&s(")",60), s("to ",333), s("of ",333), s("%",300),s("1.",400),s("e",999),s("'",999),s("sin(", 60)+"1", s("1 mod ",160)+"3", s("1 nCr ", 160)+"1","100000000 nCr 50000000".into(), "0d6".into(), "10^10^10 mod 7".into(), "2^(1/100000000)".into(),"2^0.123456789123".into(),"log 0".into(),"ln(-1)".into(),"i^i".into(),"1/0".into(), "1 m to kg".into(), "hello".into(), "서울".into(), "(1.5)^12345.678".into(), "1e1000000000".into(), "1e-1000000000".into(), "0.1+0.2".into(), "10 C to F".into(), "1 lightyear to km".into(), "1000000000000 to base 1".into(), "345*872=".into(), "16#ff".into(), "1.(3)".into(), "1,5+2".into(), "1_000*2".into(), "2**10".into(),"7 mod 3".into(), "a=3; a*2".into(),"1 234 * 2".into(),
    ] {
        let t = Instant::now();
        let r = calc(&e);
        let shown: String = e.chars().take(40).collect();
        let r = match r { Ok(r) => format!("Ok {} {}", r.len(), r.chars().take(80).collect::<String>()), Err(e) => format!("{e}").chars().take(160).collect() };
        let rss = std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("VmHWM")).unwrap().to_owned();
        eprintln!("{shown:42} {:>6}ms {rss} {r}", t.elapsed().as_millis());
    }
}
