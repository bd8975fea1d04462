use proptest::prelude::*;

use super::*;

fn reason<T: Text + fmt::Debug>(text: &str) -> Reason {
    parse::<T>(text).unwrap_err().reason
}

#[test]
fn decimals_are_exact() {
    assert_eq!("0.1 s".parse(), Ok(Span::from_millis(100)));
    assert_eq!("0.000000001 s".parse(), Ok(Span::from_nanos(1)));
    assert_eq!("1.5 Mbit/s".parse(), Ok(Rate::from_kbps(1_500)));
    assert_eq!("16 MB".parse(), Ok(Size::from_bytes(16_000_000)));
    assert_eq!("0.5 KiB".parse(), Ok(Size::from_bytes(512)));
    assert_eq!("0.0009765625 KiB".parse(), Ok(Size::from_bytes(1)));
    assert_eq!("20ns".parse(), Ok(Span::from_nanos(20)));
    assert_eq!("5 \u{b5}s".parse(), Ok(Span::from_micros(5)));
    assert_eq!("0.5 day".parse(), Ok(Span::from_secs(43_200)));
    assert_eq!("1.000000000000000000000000000000000000000000 s".parse(), Ok(Span::from_secs(1)));
}

#[test]
fn every_reason_has_a_text_that_shows_it() {
    assert_eq!(reason::<Rate>("384"), Reason::MissingUnit);
    assert_eq!(reason::<Rate>("384 kbps"), Reason::UnknownUnit("kbps".into()));
    assert_eq!(reason::<Rate>("fast"), Reason::NotANumber);
    assert_eq!(reason::<Rate>(""), Reason::NotANumber);
    assert_eq!(reason::<Rate>("1. kbit/s"), Reason::NotANumber);
    assert_eq!(reason::<Rate>("0 kbit/s"), Reason::Zero);
    assert_eq!(reason::<Span>("-5 ms"), Reason::Negative);
    assert_eq!(reason::<Span>("0.5 ns"), Reason::NotWhole("nanoseconds"));
    assert_eq!(reason::<Span>("0.1111111111111111111111111111111111111111 day"), Reason::NotWhole("nanoseconds"));
    assert_eq!(reason::<Size>("0.3 B"), Reason::NotWhole("bytes"));
    assert_eq!(reason::<Size>("99999999999999999999999999999999999999999999 GB"), Reason::TooLarge("1000000000 GB"));
    assert_eq!(reason::<Span>("101 h days"), Reason::UnknownUnit("h days".into()));
    assert_eq!(reason::<Span>("36501 day"), Reason::TooLarge("36500 days"));
    assert_eq!(reason::<Probability>("100 %"), Reason::NotAProbability);
    assert_eq!(reason::<Probability>("10 percent"), Reason::UnknownUnit("percent".into()));
}

#[test]
fn percents_equal_their_decimals() {
    for percent in 0..100 {
        let decimal = Probability::new(format!("0.{percent:02}").parse().unwrap()).unwrap();
        assert_eq!(format!("{percent} %").parse(), Ok(decimal));
        assert_eq!(decimal.to_string().parse(), Ok(decimal));
    }
}

#[test]
fn the_shortest_text_wins() {
    let written = [
        (Span::from_millis(135).to_string(), "135 ms"),
        (Span::from_millis(100).to_string(), "100 ms"),
        (Span::from_millis(1500).to_string(), "1.5 s"),
        (Span::from_secs(60).to_string(), "1 min"),
        (Span::from_secs(90).to_string(), "90 s"),
        (Span::from_secs(3600).to_string(), "1 h"),
        (Span::ZERO.to_string(), "0 s"),
        (Rate::from_kbps(384).to_string(), "384 kbit/s"),
        (Rate::from_kbps(100_000).to_string(), "100 Mbit/s"),
        (Size::from_bytes(1460).to_string(), "1460 B"),
        (Size::from_bytes(16_000_000).to_string(), "16 MB"),
        (Size::from_bytes(65_536).to_string(), "64 KiB"),
        (Size::ZERO.to_string(), "0 B"),
        (Probability::new(0.1).unwrap().to_string(), "0.1"),
    ];
    for (text, expected) in written {
        assert_eq!(text, expected);
    }
}

#[test]
fn a_number_without_a_unit_says_so() {
    let error = serde_json::from_str::<Rate>("384").unwrap_err().to_string();
    assert!(error.contains("invalid type: integer `384`"), "{error}");
    assert!(error.contains("the unit is missing"), "{error}");
    assert_eq!(serde_json::from_str::<Probability>("0.25").unwrap().get(), 0.25);
    assert_eq!(serde_json::to_string(&Size::from_bytes(536)).unwrap(), "\"536 B\"");
}

/// Numbers of every magnitude, and round ones, up to the limit of sizes.
fn magnitudes() -> impl Strategy<Value = u64> {
    (any::<u64>(), 4u32..64, 0u32..12).prop_map(|(number, shift, zeros)| {
        (number >> shift).saturating_mul(10u64.pow(zeros)).min(1_000_000_000_000_000_000)
    })
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(value in magnitudes()) {
        let (size, span) = (Size::from_bytes(value), Span::from_nanos(value));
        prop_assert_eq!(size.to_string().parse(), Ok(size));
        prop_assert_eq!(span.to_string().parse(), Ok(span));
        if let Some(rate) = Rate::from_bps(value.min(1_000_000_000_000_000)) {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }

    #[test]
    fn probabilities_survive_their_text(value in 0.0..1.0f64) {
        let probability = Probability::new(value).unwrap();
        prop_assert_eq!(probability.to_string().parse(), Ok(probability));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|-?[0-9]{0,60}(\\.[0-9]{0,60})? ?(s|ms|kB|kbit/s|%|µs)?") {
        let _ = parse::<Span>(&text);
        let _ = parse::<Size>(&text);
        let _ = parse::<Rate>(&text);
        let _ = parse::<Probability>(&text);
    }
}
