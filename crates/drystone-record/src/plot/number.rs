//! Numbers as people read them.

/// A number in few characters: four significant digits, no trailing zeros, powers of ten where they save
/// space.
pub fn short(x: f64) -> String {
    if !x.is_finite() {
        return if x.is_nan() { "nan".to_string() } else { if x > 0.0 { "inf" } else { "-inf" }.to_string() };
    }
    if x == 0.0 {
        return "0".to_string();
    }
    // The exponent after rounding: 9.9999 is 10.
    let scientific = format!("{x:.3e}");
    let exponent: i32 = scientific.split('e').nth(1).and_then(|e| e.parse().ok()).unwrap_or(0);
    if (-3..5).contains(&exponent) {
        trimmed(format!("{x:.*}", (3 - exponent).max(0) as usize))
    } else {
        let mantissa = scientific.split('e').next().unwrap_or_default();
        format!("{}e{exponent}", trimmed(mantissa.to_string()))
    }
}

fn trimmed(digits: String) -> String {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.').to_string() } else { digits }
}

/// Ten to a power, with raised digits: 10⁻³.
pub(super) fn power_of_ten(exponent: i32) -> String {
    let digits = exponent.to_string();
    let raised = digits.chars().map(|c| match c {
        '-' => '\u{207b}',
        '1' => '\u{b9}',
        '2' => '\u{b2}',
        '3' => '\u{b3}',
        _ => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or('0'),
    });
    "10".chars().chain(raised).collect()
}

/// Labels of ticks a `step` apart, all with the same number of decimals, and the power of ten that multiplies
/// them when the plain numbers would be long.
pub(super) fn evenly_spaced(ticks: &[f64], step: f64) -> (Vec<String>, Option<i32>) {
    let largest = ticks.iter().fold(0.0_f64, |m, t| m.max(t.abs()));
    let exponent = if largest > 0.0 { largest.log10().floor() as i32 } else { 0 };
    let factored = !(-3..5).contains(&exponent);
    // Division by a power of ten, never multiplication by a rounded inverse: 3e5 must come out as 3.
    let scaled = |x: f64| match exponent {
        e if !factored || e == 0 => x,
        e if e > 0 => x / 10.0_f64.powi(e),
        // In two parts, since 10³⁰⁸ is the largest power there is.
        e => x * 10.0_f64.powi(-e / 2) * 10.0_f64.powi(-e - (-e / 2)),
    };
    let decimals = (-(scaled(step) * 1.000_001).log10().floor()).clamp(0.0, 12.0) as usize;
    let label = |&t: &f64| {
        let text = format!("{:.decimals$}", scaled(t));
        let zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
        if zero { text.trim_start_matches('-').to_string() } else { text.replace('-', "\u{2212}") }
    };
    (ticks.iter().map(label).collect(), factored.then_some(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (0.0123456, "0.01235"),
            (1234.56, "1235"),
            (99999.0, "1e5"),
            (1.5e-7, "1.5e-7"),
            (9.99996, "10"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (x, text) in cases {
            assert_eq!(short(x), text);
        }
    }

    #[test]
    fn tick_labels_share_their_decimals() {
        let labels = |ticks: &[f64], step| evenly_spaced(ticks, step);
        assert_eq!(labels(&[0.0, 0.5, 1.0], 0.5), (vec!["0.0".into(), "0.5".into(), "1.0".into()], None));
        assert_eq!(labels(&[-20.0, 0.0], 20.0).0, ["\u{2212}20", "0"]);
        assert_eq!(labels(&[1e6, 1.5e6], 5e5), (vec!["1.0".into(), "1.5".into()], Some(6)));
        assert_eq!(labels(&[0.0, 2e-5, 4e-5], 2e-5), (vec!["0".into(), "2".into(), "4".into()], Some(-5)));
        assert_eq!(power_of_ten(-12), "10\u{207b}\u{b9}\u{b2}");
    }
}
