//! Arithmetic in texts: what scene files compute their numbers with, and ask of a world whether to stop.
//!
//! ```text
//!     either   = both ("or" both)*
//!     both     = compared ("and" compared)*
//!     compared = sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
//!     sum      = product (("+" | "-") product)*
//!     product  = sign (("*" | "/" | "%") sign)*
//!     sign     = ("-" | "not")* power
//!     power    = atom ("^" sign)?
//!     atom     = number | name | function "(" either ("," either)* ")" | "(" either ")"
//! ```
//!
//! A name is of letters, digits, `_` and `.`, or anything between single quotes. True is 1, false is 0.

use drystone_solve::solver::nearest;

/// What is wrong, and at which byte of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub at: usize,
    pub message: String,
}

/// A formula that was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    Name(usize, String),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    Call(&'static Function, Vec<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unary {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Different,
    And,
    Or,
}

/// A function of some numbers.
#[derive(Debug)]
pub(crate) struct Function {
    name: &'static str,
    /// How many: least and most.
    takes: (usize, usize),
    of: fn(&[f64]) -> f64,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

const fn one(name: &'static str, of: fn(&[f64]) -> f64) -> Function {
    Function { name, takes: (1, 1), of }
}

const fn two(name: &'static str, of: fn(&[f64]) -> f64) -> Function {
    Function { name, takes: (2, 2), of }
}

/// Angles are in radians; `sind` and its like take degrees.
static FUNCTIONS: [Function; 25] = [
    one("abs", |x| x[0].abs()),
    one("acos", |x| x[0].acos()),
    one("asin", |x| x[0].asin()),
    one("atan", |x| x[0].atan()),
    two("atan2", |x| x[0].atan2(x[1])),
    one("ceil", |x| x[0].ceil()),
    one("cos", |x| x[0].cos()),
    one("cosd", |x| x[0].to_radians().cos()),
    one("degrees", |x| x[0].to_degrees()),
    one("exp", |x| x[0].exp()),
    one("floor", |x| x[0].floor()),
    two("hypot", |x| x[0].hypot(x[1])),
    Function { name: "if", takes: (3, 3), of: |x| if x[0] != 0.0 { x[1] } else { x[2] } },
    one("log", |x| x[0].ln()),
    Function { name: "max", takes: (1, 16), of: |x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max) },
    Function { name: "min", takes: (1, 16), of: |x| x.iter().copied().fold(f64::INFINITY, f64::min) },
    two("mod", |x| x[0].rem_euclid(x[1])),
    one("radians", |x| x[0].to_radians()),
    // The same number for the same arguments, between 0 and 1.
    Function { name: "random", takes: (1, 4), of: noise },
    one("round", |x| x[0].round()),
    one("sign", |x| if x[0] == 0.0 { 0.0 } else { x[0].signum() }),
    one("sin", |x| x[0].sin()),
    one("sind", |x| x[0].to_radians().sin()),
    one("sqrt", |x| x[0].sqrt()),
    one("tan", |x| x[0].tan()),
];

fn noise(x: &[f64]) -> f64 {
    let mix = |h: u64, x: &f64| {
        let mut h = (h ^ x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h = (h ^ h >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        h ^ h >> 27
    };
    drystone::random::Random::new(x.iter().fold(1, mix)).uniform()
}

/// Deeper formulas are refused before the stack is in danger.
const MAX_DEPTH: usize = 64;

impl Expression {
    /// Reads a formula.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let read = reader.either()?;
        reader.space();
        if reader.at < text.len() {
            return Err(reader.wrong(format!("expected an operator, found {}", reader.found())));
        }
        Ok(read)
    }

    /// Its value, with what names mean.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, Wrong> {
        Ok(match self {
            Expression::Number(x) => *x,
            Expression::Name(at, name) => {
                let unknown = || Wrong { at: *at, message: format!("there is no '{name}'") };
                of(name).ok_or_else(unknown)?
            }
            Expression::Unary(Unary::Minus, x) => -x.value(of)?,
            Expression::Unary(Unary::Not, x) => truth(x.value(of)? == 0.0),
            Expression::Binary(op, a, b) => op.of(a.value(of)?, b.value(of)?),
            Expression::Call(f, list) => {
                let values: Vec<f64> = list.iter().map(|x| x.value(of)).collect::<Result<_, _>>()?;
                (f.of)(&values)
            }
        })
    }

    /// Every name in it, with its place.
    pub fn names(&self) -> Vec<(usize, &str)> {
        match self {
            Expression::Number(_) => Vec::new(),
            Expression::Name(at, name) => vec![(*at, name)],
            Expression::Unary(_, x) => x.names(),
            Expression::Binary(_, a, b) => [a.names(), b.names()].concat(),
            Expression::Call(_, list) => list.iter().flat_map(Expression::names).collect(),
        }
    }
}

fn truth(b: bool) -> f64 {
    f64::from(u8::from(b))
}

impl Binary {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Subtract => a - b,
            Binary::Multiply => a * b,
            Binary::Divide => a / b,
            Binary::Remainder => a % b,
            Binary::Power => a.powf(b),
            Binary::Less => truth(a < b),
            Binary::LessOrEqual => truth(a <= b),
            Binary::Greater => truth(a > b),
            Binary::GreaterOrEqual => truth(a >= b),
            Binary::Equal => truth(a == b),
            Binary::Different => truth(a != b),
            Binary::And => truth(a != 0.0 && b != 0.0),
            Binary::Or => truth(a != 0.0 || b != 0.0),
        }
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong { at: self.at, message: message.into() }
    }

    fn found(&self) -> String {
        self.rest().chars().next().map_or("the end".into(), |c| format!("'{c}'"))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Takes a sign, if it is the next.
    fn take(&mut self, sign: &str) -> bool {
        self.space();
        let here = self.rest().starts_with(sign);
        self.at += if here { sign.len() } else { 0 };
        here
    }

    /// Takes a word, if it is the next, whole.
    fn word(&mut self, word: &str) -> bool {
        self.space();
        let more = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let here = self.rest().strip_prefix(word).is_some_and(|rest| !rest.starts_with(more));
        self.at += if here { word.len() } else { 0 };
        here
    }

    fn either(&mut self) -> Result<Expression, Wrong> {
        let mut left = self.both()?;
        while self.word("or") {
            left = Expression::Binary(Binary::Or, left.into(), self.both()?.into());
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Expression, Wrong> {
        let mut left = self.compared()?;
        while self.word("and") {
            left = Expression::Binary(Binary::And, left.into(), self.compared()?.into());
        }
        Ok(left)
    }

    fn compared(&mut self) -> Result<Expression, Wrong> {
        const SIGNS: [(&str, Binary); 6] = [
            ("<=", Binary::LessOrEqual),
            ("<", Binary::Less),
            (">=", Binary::GreaterOrEqual),
            (">", Binary::Greater),
            ("==", Binary::Equal),
            ("!=", Binary::Different),
        ];
        let left = self.sum()?;
        for (sign, op) in SIGNS {
            if self.take(sign) {
                return Ok(Expression::Binary(op, left.into(), self.sum()?.into()));
            }
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression, Wrong> {
        let mut left = self.product()?;
        loop {
            let op = if self.take("+") {
                Binary::Add
            } else if self.take("-") {
                Binary::Subtract
            } else {
                return Ok(left);
            };
            left = Expression::Binary(op, left.into(), self.product()?.into());
        }
    }

    fn product(&mut self) -> Result<Expression, Wrong> {
        let mut left = self.sign()?;
        loop {
            let op = if self.take("*") {
                Binary::Multiply
            } else if self.take("/") {
                Binary::Divide
            } else if self.take("%") {
                Binary::Remainder
            } else {
                return Ok(left);
            };
            left = Expression::Binary(op, left.into(), self.sign()?.into());
        }
    }

    fn sign(&mut self) -> Result<Expression, Wrong> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wrong(format!("the formula is nested deeper than {MAX_DEPTH}")));
        }
        let read = if self.take("-") {
            Expression::Unary(Unary::Minus, self.sign()?.into())
        } else if self.word("not") {
            Expression::Unary(Unary::Not, self.sign()?.into())
        } else {
            let base = self.atom()?;
            if self.take("^") {
                Expression::Binary(Binary::Power, base.into(), self.sign()?.into())
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(read)
    }

    fn atom(&mut self) -> Result<Expression, Wrong> {
        self.space();
        let start = self.at;
        match self.rest().chars().next() {
            Some('(') => {
                self.at += 1;
                let inner = self.either()?;
                if !self.take(")") {
                    return Err(self.wrong(format!("expected ')', found {}", self.found())));
                }
                Ok(inner)
            }
            Some('\'') => {
                let Some(end) = self.text[start + 1..].find('\'') else {
                    return Err(self.wrong("a quoted name does not end"));
                };
                self.at = start + end + 2;
                let mut name = self.text[start + 1..start + 1 + end].to_string();
                if self.rest().starts_with('.') {
                    self.at += 1;
                    name = format!("{name}.{}", self.letters());
                }
                Ok(Expression::Name(start, name))
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => {
                let name = self.letters();
                self.space();
                if self.rest().starts_with('(') {
                    self.at += 1;
                    return self.call(start, &name);
                }
                Ok(match name.as_str() {
                    "pi" => Expression::Number(std::f64::consts::PI),
                    "true" => Expression::Number(1.0),
                    "false" => Expression::Number(0.0),
                    _ => Expression::Name(start, name),
                })
            }
            _ => Err(self.wrong(format!("expected a number or a name, found {}", self.found()))),
        }
    }

    fn letters(&mut self) -> String {
        let more = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = self.rest().find(|c: char| !more(c)).unwrap_or(self.rest().len());
        let word = self.rest()[..end].to_string();
        self.at += end;
        word
    }

    fn number(&mut self) -> Result<Expression, Wrong> {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
                end = digits(end + 1 + sign);
            }
        }
        let text = &self.rest()[..end];
        let x = text.parse().map_err(|_| self.wrong(format!("'{text}' is not a number")))?;
        self.at += end;
        Ok(Expression::Number(x))
    }

    fn call(&mut self, start: usize, name: &str) -> Result<Expression, Wrong> {
        let names: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
        let Some(f) = FUNCTIONS.iter().find(|f| f.name == name) else {
            let hint = nearest(name, &names).map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            let message = format!("there is no function '{name}'{hint} (known: {})", names.join(", "));
            return Err(Wrong { at: start, message });
        };
        let mut list = Vec::new();
        loop {
            list.push(self.either()?);
            if self.take(")") {
                break;
            }
            if !self.take(",") {
                return Err(self.wrong(format!("expected ',' or ')', found {}", self.found())));
            }
        }
        let (least, most) = f.takes;
        if list.len() < least || list.len() > most {
            let wanted = if least == most { least.to_string() } else { format!("{least} to {most}") };
            let message = format!("{name} takes {wanted} numbers, got {}", list.len());
            return Err(Wrong { at: start, message });
        }
        Ok(Expression::Call(f, list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let names = |name: &str| match name {
            "n" => Some(5.0),
            "ball.z" => Some(0.25),
            "my ball.z" => Some(0.5),
            _ => None,
        };
        Expression::parse(text).and_then(|e| e.value(&names)).unwrap_or_else(|e| panic!("{text}: {e:?}"))
    }

    fn wrong(text: &str) -> (usize, String) {
        let none = |_: &str| None;
        let e = Expression::parse(text).and_then(|e| e.value(&none)).unwrap_err();
        (e.at, e.message)
    }

    #[test]
    fn formulas_mean_what_they_mean_elsewhere() {
        for (text, x) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("7 % 4 - 1", 2.0),
            ("8 / 4 / 2", 1.0),
            ("1.5e-3*2", 3e-3),
            ("n + .5", 5.5),
            ("ball.z < 0.3 and n == 5", 1.0),
            ("'my ball'.z", 0.5),
            ("not (1 > 2) or 0", 1.0),
            ("if(n >= 5, 10, 20)", 10.0),
            ("max(1, n, 3) + min(2, 4)", 7.0),
            ("mod(-1, 4)", 3.0),
            ("round(sind(30) * 1000)", 500.0),
            ("cos(pi)", -1.0),
            ("true - false", 1.0),
            ("orb1 + 0 * n", f64::NAN),
        ] {
            if x.is_nan() {
                assert_eq!(wrong(text), (0, "there is no 'orb1'".into()));
            } else {
                assert!((value(text) - x).abs() < 1e-12, "{text}");
            }
        }
        assert_eq!(value("random(3, 4)"), value("random(3, 4)"));
        assert_ne!(value("random(3, 4)"), value("random(4, 3)"));
        let all: Vec<f64> = (0..1000).map(|k| value(&format!("random({k})"))).collect();
        assert!(all.iter().all(|x| (0.0..1.0).contains(x)));
        assert!((all.iter().sum::<f64>() / 1000.0 - 0.5).abs() < 0.05);
    }

    #[test]
    fn mistakes_are_named_with_their_places() {
        assert_eq!(wrong("1 +"), (3, "expected a number or a name, found the end".into()));
        assert_eq!(wrong("(1 + 2"), (6, "expected ')', found the end".into()));
        assert_eq!(wrong("1 2"), (2, "expected an operator, found '2'".into()));
        assert_eq!(wrong("2 * m"), (4, "there is no 'm'".into()));
        assert!(wrong("sine(1)").1.contains("did you mean 'sin'?"));
        assert_eq!(wrong("hypot(1)"), (0, "hypot takes 2 numbers, got 1".into()));
        assert!(wrong("max(1 2)").1.starts_with("expected ',' or ')'"));
        assert!(wrong("'x").1.contains("does not end"));
        assert!(wrong(&"(".repeat(1000)).1.contains("nested deeper"));
        assert!(wrong(&"-".repeat(1000)).1.contains("nested deeper"));
        assert!(wrong("").1.contains("found the end"));
    }

    #[test]
    fn no_text_makes_it_panic() {
        let mut random = drystone::random::Random::new(3);
        let parts =
            ["1", "n", "+", "-", "*", "/", "^", "(", ")", ",", "'", ".", "e", "sin", "é", " ", "<", "or"];
        for _ in 0..20_000 {
            let n = random.next_u64() % 12;
            let pick = |_| parts[(random.next_u64() % parts.len() as u64) as usize];
            let text: String = (0..n).map(pick).collect();
            if let Ok(e) = Expression::parse(&text) {
                let _ = e.value(&|_| Some(1.0));
            }
        }
    }
}
