//! Numbers as the public client spells them once it has read them (wire-collie-v1 0): its rows carry that spelling, whatever the server sent. Used for its rows only; nothing else is ever re-spelled.

use super::{Json, Number};

/// The value with every number as the public client would print it after reading it.
#[must_use]
pub fn respell_numbers(json: &Json) -> Json {
    match json {
        Json::Null | Json::Bool(_) | Json::String(_) => json.clone(),
        Json::Number(number) => Json::Number(Number(respell(number.as_str()))),
        Json::Array(items) => Json::Array(items.iter().map(respell_numbers).collect()),
        Json::Object(members) => {
            Json::Object(members.iter().map(|(key, value)| (key.clone(), respell_numbers(value))).collect())
        }
    }
}

/// Integers are exact and of any size; everything else is a double, in its shortest digits. What overflows a double has no spelling there and stays.
fn respell(token: &str) -> String {
    if !token.contains(['.', 'e', 'E']) {
        return if token == "-0" { "0".to_owned() } else { token.to_owned() };
    }
    match token.parse::<f64>() {
        Ok(value) if value.is_finite() => double(value),
        Ok(_) | Err(_) => token.to_owned(),
    }
}

/// Positional from 1e-4 to below 1e16 and then with a fraction, else with a signed exponent of two digits or more.
fn double(value: f64) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let positional = format!("{value}");
        return if positional.contains('.') { positional } else { format!("{positional}.0") };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelled_as_the_public_client_prints_them() {
        for (sent, printed) in [
            ("5", "5"),
            ("-0", "0"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("5.0", "5.0"),
            ("1.50", "1.5"),
            ("-0.0", "-0.0"),
            ("1e5", "100000.0"),
            ("1E-4", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-7", "1.5e-07"),
            ("9999999999999998.0", "9999999999999998.0"),
            ("1e16", "1e+16"),
            ("12345678901234567890.123456789", "1.2345678901234567e+19"),
            ("1e-320", "1e-320"),
            ("1e400", "1e400"),
        ] {
            assert_eq!(respell(sent), printed, "{sent}");
        }
        let json = super::super::parse(br#"{"a":[1.0,{"b":1e2}],"c":"1e2"}"#, 100).expect("JSON");
        assert_eq!(respell_numbers(&json).canonical_string(), r#"{"a":[1.0,{"b":100.0}],"c":"1e2"}"#);
    }
}
