//! Tables of time from a CSV file:
//! `{ table = { file = "quake.csv", value = "ew", scale = 9.81, integrate = 2 } }`.

use std::path::Path;

use super::library::Library;
use super::settings::positive;
use crate::text::{At, Fault, Value};

/// The fields of such a table, beside those that every table has.
pub(super) const FIELDS: &[&str] = &["file", "time", "value", "step", "scale", "integrate"];
/// A file with more rows than this is taken for a slip.
const MOST_ROWS: usize = 10_000_000;

/// A column by its name in the first line, or by its number from 1.
enum Column {
    Name(String),
    Number(usize),
}

/// Time, s, and value of every row.
pub(super) fn read(at: &At, library: &Library) -> Result<Vec<[f64; 2]>, Fault> {
    let file = at.need("file")?;
    let path = library.path(&file)?;
    let column = |key: &str, number: usize| match at.get(key) {
        None => Ok(Column::Number(number)),
        Some(c) if matches!(c.node.value, Value::Text(_)) => c.text().map(|t| Column::Name(t.into())),
        Some(c) => c.whole(1, 1000).map(|n| Column::Number(n as usize)),
    };
    let step = at.get("step").map(|s| positive(&s, "s")).transpose()?;
    if let (Some(_), Some(time)) = (step, at.get("time")) {
        return Err(time.fault("give 'time', the column, or 'step', s, not both"));
    }
    let time = step.is_none().then(|| column("time", 1)).transpose()?;
    let value = column("value", if step.is_some() { 1 } else { 2 })?;
    let scale = at.get("scale").map_or(Ok(1.0), |s| s.number())?;
    let times = at.get("integrate").map_or(Ok(0), |n| n.whole(0, 2))?;
    let text = std::fs::read_to_string(&path)
        .map_err(|e| file.fault(format!("{}: cannot be read: {e}", path.display())))?;
    let mut points =
        rows(&path, &text, time.as_ref(), &value, step.unwrap_or(1.0)).map_err(|e| file.fault(e))?;
    points.iter_mut().for_each(|p| p[1] *= scale);
    (0..times).for_each(|_| integrate(&mut points));
    Ok(points)
}

/// Cells of a line: apart by commas, semicolons or spaces; `#` begins a comment.
fn cells(line: &str) -> Vec<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let cut: Vec<&str> = if line.contains([',', ';']) {
        line.split([',', ';']).collect()
    } else {
        line.split_whitespace().collect()
    };
    cut.into_iter().map(|c| c.trim().trim_matches('"')).collect()
}

fn rows(
    path: &Path,
    text: &str,
    time: Option<&Column>,
    value: &Column,
    step: f64,
) -> Result<Vec<[f64; 2]>, String> {
    let shown = path.display();
    let mut lines = text.lines().enumerate().map(|(k, l)| (k + 1, cells(l)));
    let mut lines = lines.by_ref().filter(|(_, c)| c.iter().any(|c| !c.is_empty())).peekable();
    let Some((first, head)) = lines.peek().cloned() else {
        return Err(format!("{shown}: there is nothing in it"));
    };
    let named = head.iter().any(|c| c.parse::<f64>().is_err());
    if named {
        lines.next();
    }
    let place = |column: &Column| match column {
        Column::Number(n) => Ok(n - 1),
        Column::Name(name) if named => head.iter().position(|c| c == name).ok_or_else(|| {
            format!("{shown}:{first}: there is no column '{name}' (there are: {})", head.join(", "))
        }),
        Column::Name(name) => {
            Err(format!("{shown}:{first}: names no columns: say the number of '{name}', from 1"))
        }
    };
    let (time, value) = (time.map(place).transpose()?, place(value)?);
    let mut points: Vec<[f64; 2]> = Vec::new();
    for (number, cells) in lines {
        let get = |k: usize| {
            let cell = cells.get(k).ok_or_else(|| {
                format!("{shown}:{number}: must have {} columns or more, got {}", k + 1, cells.len())
            })?;
            let x = cell.parse::<f64>().ok().filter(|x| x.is_finite());
            let cell: String = cell.chars().take(40).collect();
            x.ok_or_else(|| format!("{shown}:{number}: '{cell}' is not a number"))
        };
        let t = time.map_or(Ok(points.len() as f64 * step), get)?;
        if let Some(last) = points.last().filter(|p| p[0] >= t) {
            return Err(format!("{shown}:{number}: times must rise, got {t} s after {} s", last[0]));
        }
        points.push([t, get(value)?]);
        if points.len() > MOST_ROWS {
            return Err(format!("{shown}:{number}: more than {MOST_ROWS} rows"));
        }
    }
    if points.is_empty() {
        return Err(format!("{shown}: there are no numbers in it"));
    }
    Ok(points)
}

/// The integral from the first point on, by trapezoids: of accelerations it makes speeds, of speeds ways.
fn integrate(points: &mut [[f64; 2]]) {
    let (mut sum, mut before) = (0.0, points.first().copied().unwrap_or_default());
    for p in points {
        let here = *p;
        sum += 0.5 * (here[0] - before[0]) * (here[1] + before[1]);
        (p[1], before) = (sum, here);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str, time: Option<Column>, value: Column) -> Result<Vec<[f64; 2]>, String> {
        rows(Path::new("q.csv"), text, time.as_ref(), &value, 0.5)
    }

    #[test]
    fn columns_by_name_number_and_step() {
        let text = "# a record\nt,ns,ew\n0,1,2\n\n0.1,3,4 # last\n";
        let named = read_text(text, Some(Column::Name("t".into())), Column::Name("ew".into())).unwrap();
        assert_eq!(named, [[0.0, 2.0], [0.1, 4.0]]);
        assert_eq!(read_text(text, Some(Column::Number(1)), Column::Number(2)).unwrap()[1], [0.1, 3.0]);
        assert_eq!(read_text("1\n2\n", None, Column::Number(1)).unwrap(), [[0.0, 1.0], [0.5, 2.0]]);
        assert_eq!(
            read_text("0 7\n1; 8", Some(Column::Number(1)), Column::Number(2)).unwrap()[1],
            [1.0, 8.0]
        );
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        let wrong = |text: &str| read_text(text, Some(Column::Number(1)), Column::Number(2)).unwrap_err();
        assert_eq!(wrong("0,1\n1,x\n"), "q.csv:2: 'x' is not a number");
        assert_eq!(wrong("0,1\n1\n"), "q.csv:2: must have 2 columns or more, got 1");
        assert_eq!(wrong("0,1\n0,1\n"), "q.csv:2: times must rise, got 0 s after 0 s");
        assert_eq!(wrong(" \n#\n"), "q.csv: there is nothing in it");
        assert_eq!(wrong("t,x\n"), "q.csv: there are no numbers in it");
        let name =
            |text: &str| read_text(text, Some(Column::Number(1)), Column::Name("up".into())).unwrap_err();
        assert_eq!(name("t,x\n0,1\n"), "q.csv:1: there is no column 'up' (there are: t, x)");
        assert!(name("0,1\n").contains("names no columns"));
    }

    #[test]
    fn integrals_are_those_of_straight_lines() {
        // An acceleration of 2t: t², and t³ / 3 but for what trapezoids leave.
        let mut points: Vec<[f64; 2]> = (0..=1000).map(|k| [0.001 * k as f64, 0.002 * k as f64]).collect();
        integrate(&mut points);
        assert!((points[1000][1] - 1.0).abs() < 1e-12);
        integrate(&mut points);
        assert!((points[1000][1] - 1.0 / 3.0).abs() < 1e-6);
    }
}
