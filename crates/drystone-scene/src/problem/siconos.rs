//! The text form of Siconos: tokens between white space,
//!
//! ```text
//!     FC    d  nc  W      q[d nc]              mu[nc]
//!     GFC   d  nc  M  H   f[ndof]   w[d nc]    mu[nc]
//!     RFC, GRFC: the same, then mu_r[nc]
//! ```
//!
//! and whatever follows is ignored. A matrix is dense, in sparse blocks, or what CSparse prints.

use drystone_solve::lcp::Lcp;
use drystone_solve::problem::Csr;

use super::eliminate::eliminate;
use super::{ContactProblem, Kind};
use crate::SceneError;

pub(super) fn problem(text: &str, file: &str, kind: Option<Kind>) -> Result<ContactProblem, SceneError> {
    let mut tokens = Tokens { text, at: 0 };
    let dimension = tokens.whole("d", 5)?;
    if ![2, 3, 5].contains(&dimension) {
        return Err(tokens.error("d", format!("must be 2, 3 or 5, got {dimension}")));
    }
    let contacts = tokens.whole("nc", 1 << 28)?;
    let kind = kind.unwrap_or_else(|| guess(file, dimension));
    if kind.is_rolling() != (dimension == 5) {
        return Err(tokens.error("d", super::mismatch(kind, dimension)));
    }
    let rows = dimension * contacts;
    let (w, q) = if kind.is_global() {
        let m = tokens.matrix("M")?;
        let h = tokens.matrix("H")?;
        if h.columns != rows {
            return Err(
                tokens.error("H", format!("has {} columns, but the contacts have {rows} rows", h.columns))
            );
        }
        let f = tokens.numbers("f", m.rows())?;
        let w = tokens.numbers("w", rows)?;
        eliminate(&m, &h, &f, &w)
            .map_err(|(field, text)| SceneError { field: Some(field.into()), ..SceneError::new(text) })?
    } else {
        let w = tokens.matrix("W")?;
        if w.rows() != rows || w.columns != rows {
            let text = format!(
                "is {} x {}, but {contacts} contacts of dimension {dimension} have {rows} rows; if M and H follow, \
                 say --kind {}",
                w.rows(),
                w.columns,
                if kind.is_rolling() { "grfc" } else { "gfc" }
            );
            return Err(tokens.error("W", text));
        }
        let q = tokens.numbers("q", rows)?;
        (w, q)
    };
    let mu = tokens.numbers("mu", contacts)?;
    let mu_r = if kind.is_rolling() { tokens.numbers("mu_r", contacts)? } else { Vec::new() };
    let name = file.to_string();
    Ok(ContactProblem {
        name,
        kind,
        dimension,
        w,
        q,
        mu,
        mu_r,
        others: Vec::new(),
        guess: Vec::new(),
        solution: Vec::new(),
    })
}

/// A linear complementarity problem: n, M, q.
pub(super) fn lcp(text: &str) -> Result<Lcp, SceneError> {
    let mut tokens = Tokens { text, at: 0 };
    let n = tokens.size("n")?;
    let m = tokens.matrix("M")?;
    if (m.rows(), m.columns) != (n, n) {
        return Err(tokens.error("M", format!("is {} x {}, but n is {n}", m.rows(), m.columns)));
    }
    // Dense from here on: a size that no dense matrix can have is refused before it is made.
    if n > 20_000 {
        return Err(tokens.error("n", format!("must be at most 20000, got {n}")));
    }
    let q = tokens.numbers("q", n)?;
    let mut dense = vec![0.0; n * n];
    for i in 0..n {
        for (j, x) in m.row(i) {
            dense[i * n + j] += x;
        }
    }
    Ok(Lcp { m: dense, q })
}

/// What the name of a published file says.
fn guess(file: &str, dimension: usize) -> Kind {
    let name = file.to_ascii_lowercase();
    match (name.starts_with("grfc"), name.starts_with("gfc") && !name.contains("condensed"), dimension) {
        (true, _, _) => Kind::Grfc,
        (_, true, _) => Kind::Gfc,
        (_, _, 5) => Kind::Rfc,
        _ => Kind::Fc,
    }
}

struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    fn error(&self, field: &str, message: String) -> SceneError {
        let before = &self.text[..self.at];
        let start = before.rfind('\n').map_or(0, |i| i + 1);
        let place = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
        SceneError { place: Some(place), field: Some(field.into()), ..SceneError::new(message) }
    }

    fn peek(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        let rest = &self.text[self.at..];
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    }

    fn next(&mut self, field: &str) -> Result<&'t str, SceneError> {
        let token =
            self.peek().ok_or_else(|| self.error(field, "the file ends here: is it cut short?".into()))?;
        self.at += token.len();
        Ok(token)
    }

    /// A token that must be this word.
    fn word(&mut self, field: &str, word: &str) -> Result<(), SceneError> {
        let token = self.peek().unwrap_or("the end of the file");
        if token != word {
            return Err(self.error(field, format!("expected '{word}', found '{token}'")));
        }
        self.next(field).map(|_| ())
    }

    fn rest_of_line(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        self.at += line.len();
        line
    }

    fn whole(&mut self, field: &str, most: usize) -> Result<usize, SceneError> {
        self.peek();
        let here = self.at;
        let token = self.next(field)?;
        match token.trim_end_matches(',').parse::<usize>() {
            Ok(x) if x <= most => Ok(x),
            _ => {
                self.at = here;
                let token: String = token.chars().take(40).collect();
                Err(self.error(field, format!("expected a whole number from 0 to {most}, found '{token}'")))
            }
        }
    }

    fn number(&mut self, field: &str) -> Result<f64, SceneError> {
        self.peek();
        let here = self.at;
        let token = self.next(field)?;
        match token.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => {
                self.at = here;
                Err(self.error(field, format!("expected a finite number, found '{token}'")))
            }
        }
    }

    fn numbers(&mut self, name: &str, count: usize) -> Result<Vec<f64>, SceneError> {
        // A wrong count must not reserve more than the file could hold.
        let mut all = Vec::with_capacity(count.min(self.text.len()));
        for i in 0..count {
            let x = self.number(name).map_err(|e| SceneError { field: Some(format!("{name}[{i}]")), ..e })?;
            all.push(x);
        }
        Ok(all)
    }

    fn matrix(&mut self, name: &str) -> Result<Csr, SceneError> {
        let storage = self.whole(name, 2)?;
        let (rows, columns) = (self.size(name)?, self.size(name)?);
        let entries = match storage {
            0 => self.dense(name, rows, columns)?,
            1 => self.blocks(name, rows, columns)?,
            _ => self.csparse(name, rows, columns)?,
        };
        let mut all = vec![Vec::new(); rows];
        for (i, j, x) in entries {
            if i >= rows || j >= columns {
                return Err(
                    self.error(name, format!("has an entry at ({i}, {j}), but is {rows} x {columns}"))
                );
            }
            all[i].push((j as u32, x));
        }
        Ok(Csr::from_rows(columns, all))
    }

    /// A size: no more than the text could have.
    fn size(&mut self, name: &str) -> Result<usize, SceneError> {
        self.whole(name, (1 << 20).max(self.text.len()))
    }

    /// Sizes again, then columns.
    fn dense(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Vec<(usize, usize, f64)>, SceneError> {
        if (self.size(name)?, self.size(name)?) != (rows, columns) {
            return Err(
                self.error(name, format!("the two sizes of a dense matrix differ, first {rows} x {columns}"))
            );
        }
        let mut entries = Vec::new();
        for j in 0..columns {
            for i in 0..rows {
                let x = self.number(name)?;
                if x != 0.0 {
                    entries.push((i, j, x));
                }
            }
        }
        Ok(entries)
    }

    /// Where block rows and columns end, row pointers, block columns, and the blocks by columns.
    fn blocks(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Vec<(usize, usize, f64)>, SceneError> {
        let count = self.size(name)?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let (block_rows, block_columns) = (self.size(name)?, self.size(name)?);
        let row_ends = self.ends(name, block_rows, rows)?;
        let column_ends = self.ends(name, block_columns, columns)?;
        let (filled, stored) = (self.size(name)?, self.size(name)?);
        if filled != block_rows + 1 || stored != count {
            let text = format!(
                "{block_rows} block rows need {} pointers, got {filled}; {count} blocks, {stored} columns",
                block_rows + 1
            );
            return Err(self.error(name, text));
        }
        let pointers: Vec<usize> = (0..filled).map(|_| self.whole(name, count)).collect::<Result<_, _>>()?;
        if pointers[0] != 0 || pointers[block_rows] != count || pointers.windows(2).any(|p| p[0] > p[1]) {
            return Err(
                self.error(name, format!("the row pointers of its blocks must rise from 0 to {count}"))
            );
        }
        let places: Vec<usize> = (0..count)
            .map(|_| self.whole(name, block_columns.saturating_sub(1)))
            .collect::<Result<_, _>>()?;
        let mut entries = Vec::new();
        for block_row in 0..block_rows {
            for k in pointers[block_row]..pointers[block_row + 1] {
                let number = self.whole(name, count)?;
                if number != k {
                    return Err(self.error(name, format!("expected block number {k}, found {number}")));
                }
                let (row_end, column_end) = (row_ends[block_row + 1], column_ends[places[k] + 1]);
                for j in column_ends[places[k]]..column_end {
                    for i in row_ends[block_row]..row_end {
                        entries.push((i, j, self.number(name)?));
                    }
                }
            }
        }
        Ok(entries)
    }

    /// Cumulated ends, with a 0 in front.
    fn ends(&mut self, name: &str, count: usize, last: usize) -> Result<Vec<usize>, SceneError> {
        let mut ends = vec![0];
        for _ in 0..count {
            ends.push(self.whole(name, last)?);
        }
        if ends.windows(2).any(|p| p[0] > p[1]) || ends.last() != Some(&last) {
            return Err(self.error(name, format!("the ends of its blocks must rise to {last}")));
        }
        Ok(ends)
    }

    /// Where it came from, a banner, then `i j : x` lines, or `col j : locations a to b` and `i : x` lines.
    fn csparse(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Vec<(usize, usize, f64)>, SceneError> {
        self.whole(name, 8)?;
        self.word(name, "CSparse")?;
        self.rest_of_line();
        let first = self.next(name)?;
        let (form, size) = match first {
            "triplet:" | "csr:" | "csc:" => (first, self.next(name)?),
            _ => ("csc:", first),
        };
        if size.trim_end_matches(',') != format!("{rows}-by-{columns}") {
            return Err(self.error(name, format!("must be {rows}-by-{columns}, found '{size}'")));
        }
        self.word(name, "nzmax:")?;
        self.size(name)?;
        self.word(name, "nnz:")?;
        let count = self.size(name)?;
        self.rest_of_line();
        let mut entries = Vec::new();
        if form == "triplet:" {
            for _ in 0..count {
                let (i, j) = (self.whole(name, rows)?, self.whole(name, columns)?);
                self.word(name, ":")?;
                entries.push((i, j, self.number(name)?));
            }
            return Ok(entries);
        }
        let (lines, label) = if form == "csr:" { (rows, "row") } else { (columns, "col") };
        for line in 0..lines {
            self.word(name, label)?;
            let found = self.whole(name, lines)?;
            if found != line {
                return Err(self.error(name, format!("expected {label} {line}, found {found}")));
            }
            self.word(name, ":")?;
            self.word(name, "locations")?;
            let start = self.whole(name, count)?;
            self.word(name, "to")?;
            // An empty line ends before it starts, at -1 for the first one.
            let end = self.next(name)?.parse::<i64>().ok();
            let end = end.filter(|e| *e < count as i64).ok_or_else(|| {
                self.error(name, format!("the entries of {label} {line} must end before {count}"))
            })?;
            for _ in start as i64..=end {
                let other = self.whole(name, rows.max(columns))?;
                self.word(name, ":")?;
                let x = self.number(name)?;
                entries.push(if form == "csr:" { (line, other, x) } else { (other, line, x) });
            }
        }
        Ok(entries)
    }
}
