//! A measure that is a list of pairs, as `scene_results.nut_height_m`: every run is a curve of its own.

use drystone_record::plot::{Chart, Series, Style};
use serde_json::Value;

use super::{Args, Run, Study, axis};

/// The pairs at a path of a report; none where there is no list of pairs. An empty list is one.
pub fn find(report: &Value, path: &str) -> Option<Vec<[f64; 2]>> {
    let list = path.split('.').try_fold(report, |at, key| at.as_object()?.get(key))?.as_array()?;
    let pair = |v: &Value| match v.as_array()?.as_slice() {
        [x, y] => Some([x.as_f64()?, y.as_f64().unwrap_or(f64::NAN)]),
        _ => None,
    };
    list.iter().map(pair).collect()
}

/// The last value of a course, which stands for it in the table.
pub fn last(course: &[[f64; 2]]) -> Option<f64> {
    course.last().map(|p| p[1]).filter(|y| y.is_finite())
}

/// One curve for each run.
pub fn chart(args: &Args, study: &Study) -> Chart {
    let title = args.title.clone().unwrap_or_else(|| format!("{}: {}", study.scene, study.measure));
    let (x, y) = (axis(args.log_x, "time, s".into()), axis(args.log_y, study.measure.clone()));
    let mut chart = Chart::new(title, x, y).note(study.arguments.join(" "));
    let by = study.vary.trim_start_matches("set.");
    for curve in &study.curves {
        for run in &curve.runs {
            let points = run.course.iter().flatten().map(|p| (p[0], p[1])).collect();
            chart = chart.with(Series::new(name(by, run, curve.name.as_deref()), points).style(Style::Line));
        }
    }
    chart
}

/// What tells a curve from the others. A bare number says little in a legend.
fn name(by: &str, run: &Run, curve: Option<&str>) -> String {
    let own = if run.x.parse::<f64>().is_ok() { format!("{by} {}", run.x) } else { run.x.clone() };
    curve.map_or(own.clone(), |curve| format!("{own}, {curve}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_pairs_are_courses_and_nothing_else_is() {
        let report =
            serde_json::json!({"a": {"b": [[0.0, 1.0], [0.5, null]], "c": 2, "d": [], "e": [[1, 2, 3]]}});
        let course = find(&report, "a.b").unwrap();
        assert_eq!((course.len(), course[0], course[1][0]), (2, [0.0, 1.0], 0.5));
        assert!(course[1][1].is_nan());
        assert_eq!((last(&course), last(&course[..1])), (None, Some(1.0)));
        assert_eq!(find(&report, "a.d"), Some(Vec::new()));
        for other in ["a.c", "a.e", "a.x", "a"] {
            assert_eq!(find(&report, other), None, "{other}");
        }
    }
}
