//! Solvers with their parameters as values; texts are for files and command lines.

/// Which solver, with its parameters: `Settings { solver: Method::Apgd { single: false }.into(), .. }`. It
/// becomes the text that files and the command line have (`apgd:precision=double`), so that settings can be
/// saved; [`solve::solver::install`](drystone_solve::solver::install) adds solvers of your own, which go by
/// [`Method::Named`].
///
/// ```
/// use drystone::{Method, Settings, World};
/// let settings = Settings { solver: Method::Pgs { omega: 1.0, lambda: 0.9 }.into(), ..Settings::default() };
/// assert_eq!(settings.solver, "pgs:omega=1,lambda=0.9");
/// assert!(World::new(settings).is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Picks one for each island: what is used unless something else is asked for.
    #[default]
    Auto,
    /// Projected Gauss-Seidel.
    Pgs {
        /// Relaxation factor, above 0.
        omega: f64,
        /// Smoothing factor, in (0, 1].
        lambda: f64,
    },
    /// Projected Jacobi.
    Pgj {
        /// Relaxation factor, above 0; halved where it does not converge.
        omega: f64,
        /// Smoothing factor, in (0, 1].
        lambda: f64,
    },
    /// Projected symmetric successive over-relaxation.
    Pssor {
        /// Relaxation factor, above 0.
        omega: f64,
        /// Smoothing factor, in (0, 1].
        lambda: f64,
    },
    /// Nonsmooth nonlinear conjugate gradients.
    Nncg {
        /// Relaxation factor of its sweeps, above 0.
        omega: f64,
    },
    /// Accelerated projected gradient descent.
    Apgd {
        /// Whether single precision may be used as far as its digits go.
        single: bool,
    },
    /// Accelerated sweeps.
    Apgs {
        /// Whether single precision may be used as far as its digits go.
        single: bool,
    },
    /// Spectral projected gradients.
    Bb {
        /// How many values of the objective the line search looks back on.
        memory: u32,
    },
    /// Alternating directions with a factor that is kept.
    Admm {
        /// First penalty, as a share of each block's diagonal, above 0.
        rho: f64,
        /// Over-relaxation, in (0, 2).
        alpha: f64,
    },
    /// Proximal Newton method.
    Prox {
        /// First proximal compliance, as a share of each block's diagonal, in (0, 1].
        epsilon: f64,
    },
    /// Interior points.
    Ipm,
    /// Elimination of joints by their tree.
    Schur,
    /// Any other, as text: `drystone solvers` lists them.
    Named(&'static str),
}

impl From<Method> for String {
    fn from(method: Method) -> String {
        let precision = |single: bool| if single { "auto" } else { "double" };
        match method {
            Method::Auto => "auto".into(),
            Method::Pgs { omega, lambda } => format!("pgs:omega={omega},lambda={lambda}"),
            Method::Pgj { omega, lambda } => format!("pgj:omega={omega},lambda={lambda}"),
            Method::Pssor { omega, lambda } => format!("pssor:omega={omega},lambda={lambda}"),
            Method::Nncg { omega } => format!("nncg:omega={omega}"),
            Method::Apgd { single } => format!("apgd:precision={}", precision(single)),
            Method::Apgs { single } => format!("apgs:precision={}", precision(single)),
            Method::Bb { memory } => format!("bb:memory={memory}"),
            Method::Admm { rho, alpha } => format!("admm:rho={rho},alpha={alpha}"),
            Method::Prox { epsilon } => format!("prox:epsilon={epsilon}"),
            Method::Ipm => "ipm".into(),
            Method::Schur => "schur".into(),
            Method::Named(text) => text.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone_solve::solver::make;

    #[test]
    fn every_method_can_be_made() {
        for method in [
            Method::Auto,
            Method::Pgs { omega: 0.9, lambda: 0.8 },
            Method::Pgj { omega: 0.3, lambda: 1.0 },
            Method::Pssor { omega: 1.1, lambda: 1.0 },
            Method::Nncg { omega: 1.0 },
            Method::Apgd { single: false },
            Method::Apgs { single: true },
            Method::Bb { memory: 5 },
            Method::Admm { rho: 0.1, alpha: 1.5 },
            Method::Prox { epsilon: 1e-2 },
            Method::Ipm,
            Method::Schur,
            Method::Named("nsgs-ac"),
        ] {
            let text = String::from(method);
            assert!(make(&text).is_ok(), "{text}");
        }
        assert!(make(&String::from(Method::Pgs { omega: -1.0, lambda: 1.0 })).is_err());
    }
}
