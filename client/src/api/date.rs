//! The Date header of an answer (RFC 9110 5.6.7, IMF-fixdate) as Unix seconds. Used to explain, never to decide.

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Sun, 06 Nov 1994 08:49:37 GMT`
pub(super) fn parse(text: &str) -> Option<u64> {
    let rest = text.get(5..)?.strip_suffix(" GMT")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next().and_then(|word| MONTHS.iter().position(|name| *name == word))?;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let days = days_before(year, u64::try_from(month).ok()?) + day.checked_sub(1)?;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days from 1970-01-01 to the first of a month (0 is January).
fn days_before(year: u64, month: u64) -> u64 {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let before = usize::try_from(month).ok().and_then(|month| BEFORE.get(month)).copied().unwrap_or(0);
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969) + before + u64::from(is_leap && month > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read() {
        for (text, seconds) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
            ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
            ("Fri, 31 Dec 2100 23:59:59 GMT", 4_133_980_799),
        ] {
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
        for bad in
            ["", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 0000 08:49:37 GMT"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
