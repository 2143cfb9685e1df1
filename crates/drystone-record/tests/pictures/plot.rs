//! Charts as documents: well-formed, with the right ticks, gaps where data is missing, and a legend beside
//! the data.

use drystone_record::plot::{Axis, Chart, Grid, Series, Style};

/// Start tags, by name and attributes, and the texts of a document; panics where it is not well-formed.
struct Document {
    tags: Vec<(String, Vec<(String, String)>)>,
    /// Each text with its x, y.
    texts: Vec<(f64, f64, String)>,
}

fn parse(svg: &str) -> Document {
    let mut document = Document { tags: Vec::new(), texts: Vec::new() };
    let mut open: Vec<String> = Vec::new();
    let mut rest = svg.trim_end();
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        check_text(text);
        if open.last().is_some_and(|t| t == "text") {
            let tag = document.tags.last().unwrap();
            let number = |name: &str| tag.1.iter().find(|a| a.0 == name).unwrap().1.parse().unwrap();
            document.texts.push((number("x"), number("y"), text.to_string()));
        } else {
            assert!(text.trim().is_empty(), "stray text '{text}'");
        }
        let end = start + rest[start..].find('>').expect("a tag is not closed");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        assert!(!tag.contains('<'), "'<' inside of a tag: {tag}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "wrong closing tag");
            continue;
        }
        let (body, closed) = tag.strip_suffix('/').map_or((tag, false), |b| (b, true));
        let name = body.split_whitespace().next().unwrap().to_string();
        let attributes = parse_attributes(body[name.len()..].trim());
        assert!(!document.tags.is_empty() || name == "svg", "the root is {name}");
        document.tags.push((name.clone(), attributes));
        if !closed {
            open.push(name);
        }
    }
    assert!(rest.is_empty() && open.is_empty(), "left open: {open:?}, left over: '{rest}'");
    document
}

fn check_text(text: &str) {
    for (k, _) in text.match_indices('&') {
        let entity = &text[k..];
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].iter().any(|e| entity.starts_with(e));
        assert!(known, "bare ampersand in '{text}'");
    }
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "control character in {text:?}");
}

fn parse_attributes(mut rest: &str) -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect("an attribute without a quoted value");
        let (value, after) = after.split_once('"').expect("a quote is not closed");
        check_text(value);
        assert!(!out.iter().any(|a| a.0 == name), "attribute {name} twice");
        out.push((name.to_string(), value.to_string()));
        assert!(after.is_empty() || after.starts_with(' '), "attributes run together");
        rest = after.trim_start();
    }
    out
}

impl Document {
    fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Vec<(String, String)>> {
        self.tags.iter().filter(move |t| t.0 == name).map(|t| &t.1)
    }

    /// Points of every path, in order.
    fn paths(&self) -> Vec<Vec<(f64, f64)>> {
        let data = self.named("path").map(|a| &a.iter().find(|a| a.0 == "d").unwrap().1);
        data.map(|d| {
            d.split(['M', 'L'])
                .skip(1)
                .map(|p| p.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap())
                .collect()
        })
        .collect()
    }

    fn has(&self, text: &str) -> bool {
        self.texts.iter().any(|t| t.2 == text)
    }

    fn place(&self, text: &str) -> (f64, f64) {
        self.texts
            .iter()
            .find(|t| t.2 == text)
            .map(|t| (t.0, t.1))
            .unwrap_or_else(|| panic!("no text '{text}'"))
    }

    /// Left, top, right and bottom of the area for data.
    fn area(&self) -> [f64; 4] {
        let at = self.tags.iter().position(|t| t.0 == "clipPath").unwrap();
        let get = |name: &str| -> f64 {
            self.tags[at + 1].1.iter().find(|a| a.0 == name).unwrap().1.parse().unwrap()
        };
        [get("x"), get("y"), get("x") + get("width"), get("y") + get("height")]
    }
}

fn line(points: &[(f64, f64)]) -> Series {
    Series::new("line", points.to_vec())
}

fn plain(series: Series) -> Chart {
    Chart::new("A chart", Axis::linear("time (s)"), Axis::linear("height (m)")).with(series)
}

#[test]
fn a_chart_is_a_document_with_a_white_background_and_its_texts() {
    let svg = plain(line(&[(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)])).note("small print").to_svg();
    let document = parse(&svg);
    let root = &document.tags[0].1;
    assert!(
        root.contains(&("width".into(), "720".into())) && root.contains(&("height".into(), "480".into()))
    );
    assert_eq!(document.tags[1].0, "rect");
    assert!(document.tags[1].1.contains(&("fill".into(), "#ffffff".into())));
    for text in ["A chart", "time (s)", "height (m)", "line", "small print", "0.5", "1.0", "2.0"] {
        assert!(document.has(text), "no '{text}'");
    }
}

#[test]
fn texts_from_outside_cannot_break_the_document() {
    let mut chart = plain(line(&[(0.0, 1.0)]));
    chart.title = "a < b && \"c\" > 'd' </text><script>\u{0}\u{7}".to_string();
    chart.series[0].name = "<&>".to_string();
    chart.note = "]]> &amp;".to_string();
    chart.x.label = "x\ty".to_string();
    let document = parse(&chart.to_svg());
    assert!(document.has("&lt;&amp;&gt;") && document.has("]]&gt; &amp;amp;") && document.has("x y"));
}

#[test]
fn points_fall_where_the_ticks_say() {
    let mut chart = plain(line(&[(0.0, 0.0), (2.0, 5.0), (10.0, 10.0)]));
    chart.y.range = Some((0.0, 10.0));
    let document = parse(&chart.to_svg());
    let path = &document.paths()[0];
    let [left, top, right, bottom] = document.area();
    let (left, top, right, bottom) = (left + 1.0, top + 1.0, right - 1.0, bottom - 1.0);
    assert!((path[0].0 - left).abs() < 0.02 && (path[0].1 - bottom).abs() < 0.02);
    assert!(
        (path[1].0 - (left + 0.2 * (right - left))).abs() < 0.02
            && (path[1].1 - 0.5 * (top + bottom)).abs() < 0.02
    );
    assert!((path[2].0 - right).abs() < 0.02 && (path[2].1 - top).abs() < 0.02);
    assert!((document.place("2").0 - path[1].0).abs() < 0.02);
}

#[test]
fn missing_values_leave_gaps() {
    let nan = f64::NAN;
    let points =
        [(0.0, 1.0), (1.0, 2.0), (2.0, nan), (3.0, 1.0), (4.0, 3.0), (5.0, f64::INFINITY), (6.0, 2.0)];
    let document = parse(&plain(line(&points)).to_svg());
    let paths = document.paths();
    assert_eq!(paths.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    assert!(paths[0][1].0 < paths[1][0].0);
    // The last point stands alone and shows as a dot.
    assert_eq!(document.named("circle").count(), 1);
    assert!(!document.tags.iter().any(|t| t.1.iter().any(|a| a.1.contains("NaN") || a.1.contains("inf"))));
}

#[test]
fn a_log_axis_takes_positive_values_only_and_counts_in_decades() {
    let points = [(1.0, 1e-6), (2.0, 1e-3), (3.0, 0.0), (4.0, -1.0), (5.0, 1.0), (6.0, 1e-6)];
    let chart = Chart::new("", Axis::linear("n"), Axis::log("error")).with(line(&points));
    let document = parse(&chart.to_svg());
    let paths = document.paths();
    assert_eq!(paths.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    let (small, middle, large) = (paths[0][0].1, paths[0][1].1, paths[1][0].1);
    assert!((small - middle - (middle - large)).abs() < 0.05, "10⁻³ is half way from 10⁻⁶ to 1");
    let y_of = |label: &str| document.place(label).1;
    assert!((y_of("10⁻⁶") - y_of("10⁰") - (small - large)).abs() < 0.05);
}

#[test]
fn the_legend_stands_beside_the_data_or_below_it() {
    let short = parse(&plain(line(&[(0.0, 0.0), (1.0, 1.0)])).to_svg());
    let [_, top, right, bottom] = short.area();
    let (x, y) = short.place("line");
    assert!(x > right && y > top && y < bottom);

    let name = "projected Gauss-Seidel with successive over-relaxation and warm start";
    let long = parse(&plain(Series::new(name, vec![(0.0, 0.0), (1.0, 1.0)])).to_svg());
    let [_, _, right, bottom] = long.area();
    assert!(long.place(name).1 > bottom + 20.0 && long.place(name).1 < 480.0);
    assert!(right > 690.0, "the data has the full width");

    let endless = "word ".repeat(60);
    let wrapped = parse(&plain(Series::new(endless, vec![(0.0, 0.0), (1.0, 1.0)])).to_svg());
    assert!(wrapped.texts.iter().all(|t| t.1 < 480.0 && t.2.len() < 130));
    assert!(wrapped.area()[3] - wrapped.area()[1] > 150.0);
}

#[test]
fn series_differ_in_colour_or_dashes() {
    let mut chart = Chart::new("", Axis::linear(""), Axis::linear(""));
    for k in 0..20 {
        chart = chart.with(Series::new(format!("s{k}"), vec![(0.0, k as f64), (1.0, 2.0 * k as f64)]));
    }
    let document = parse(&chart.to_svg());
    let attribute = |a: &Vec<(String, String)>, n: &str| a.iter().find(|a| a.0 == n).map(|a| a.1.clone());
    let mut looks: Vec<_> =
        document.named("path").map(|a| (attribute(a, "stroke"), attribute(a, "stroke-dasharray"))).collect();
    assert_eq!(looks.len(), 20);
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), 20);
    let dashed = parse(&plain(line(&[(0.0, 0.0), (1.0, 1.0)]).dashed()).to_svg());
    assert!(attribute(dashed.named("path").next().unwrap(), "stroke-dasharray").is_some());
}

#[test]
fn styles_draw_lines_marks_and_steps() {
    let points = [(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)];
    let draw = |style| parse(&plain(line(&points).style(style)).to_svg());
    let count = |d: &Document| (d.named("path").count(), d.named("circle").count());
    // One more mark than points: the one in the legend.
    assert_eq!(count(&draw(Style::Line)), (1, 0));
    assert_eq!(count(&draw(Style::Markers)), (0, 4));
    assert_eq!(count(&draw(Style::Both)), (1, 4));
    let path = draw(Style::Steps).paths().remove(0);
    assert_eq!(path.len(), 5);
    assert!(path[1].0 == path[2].0 && path[1].1 == path[0].1 && path[3].1 == path[2].1);
}

#[test]
fn empty_and_hopeless_data_still_make_a_chart() {
    let none = Chart::default();
    let empty = plain(Series::new("empty", vec![]));
    let negative = Chart::new("", Axis::log("x"), Axis::log("y")).with(line(&[(-1.0, 1.0), (1.0, 0.0)]));
    for chart in [none, empty, negative] {
        assert!(parse(&chart.to_svg()).has("no data"));
    }
    let extremes = plain(line(&[(0.0, -1e299), (1.0, 1e299), (f64::MAX, 3.0)]));
    assert_eq!(parse(&extremes.to_svg()).paths()[0].len(), 2);
    let flat = parse(&plain(line(&[(0.0, 7.0), (1.0, 7.0)])).to_svg());
    let y = flat.paths()[0][0].1;
    assert!(y > flat.area()[1] + 50.0 && y < flat.area()[3] - 50.0);
    let mut odd = plain(line(&[(0.0, 1.0), (1.0, 2.0)]));
    odd.y.range = Some((f64::NAN, -3.0));
    assert!(parse(&odd.to_svg()).has("1.4"));
}

#[test]
fn long_series_stay_small_and_keep_their_peaks() {
    let n = 200_000;
    let mut points: Vec<(f64, f64)> = (0..n).map(|k| (k as f64, (k as f64 * 0.01).sin())).collect();
    points[123_456].1 = 50.0;
    let chart = plain(Series::new("", points));
    let svg = chart.to_svg();
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
    let document = parse(&svg);
    let path = &document.paths()[0];
    let peak = path.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    let [left, _, right, _] = document.area();
    let expected = left + 1.0 + 123_456.0 / (n - 1) as f64 * (right - left - 2.0);
    assert!((peak.0 - expected).abs() < 0.02, "peak at {} instead of {expected}", peak.0);
}

#[test]
fn a_grid_puts_charts_side_by_side_with_ids_of_their_own() {
    let chart = plain(line(&[(0.0, 0.0), (1.0, 1.0)]));
    let document = parse(&Grid::row(vec![chart.clone(), chart.clone()]).to_svg());
    let root = &document.tags[0].1;
    assert!(
        root.contains(&("width".into(), "1200".into())) && root.contains(&("height".into(), "440".into()))
    );
    let mut ids: Vec<_> = document.named("clipPath").map(|a| a[0].1.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 2);
    let moved = document.named("g").filter(|a| a.iter().any(|a| a.1 == "translate(600 0)")).count();
    assert_eq!(moved, 1);
    let tall = parse(&Grid { charts: vec![chart; 3], columns: 2 }.to_svg());
    assert!(tall.tags[0].1.contains(&("height".into(), "880".into())));
    parse(&Grid::default().to_svg());
}
