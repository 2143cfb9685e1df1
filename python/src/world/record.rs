//! Recordings of a world that steps, and pages that show one.

use std::path::PathBuf;
use std::sync::Arc;

use drystone_record::recording::{Every, Options, RecordError, What, Writer, remove};
use drystone_view::replay::Replay;
use drystone_view::{Frames, Hello, Recorder, Store, export};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyWorld;
use crate::convert::{Whole, flag, maybe_number, number, text};
use crate::errors::input;
use crate::threads::detached;

/// Frames of a page take at most this, bytes.
const MOST_FRAMES: usize = 256 << 20;

#[pymethods]
impl PyWorld {
    /// Begins a recording in a folder: from now on every step that `World.step` takes is written down, with a
    /// frame every `every` seconds of simulated time or every `steps` steps. See `recording` for a context
    /// manager.
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (folder, every=None, steps=None, contacts=true, joints=true, double=false, replace=false, name="world"))]
    fn _record(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        #[pyo3(from_py_with = maybe_number)] every: Option<f64>,
        steps: Option<Whole>,
        #[pyo3(from_py_with = flag)] contacts: bool,
        #[pyo3(from_py_with = flag)] joints: bool,
        #[pyo3(from_py_with = flag)] double: bool,
        #[pyo3(from_py_with = flag)] replace: bool,
        #[pyo3(from_py_with = text)] name: &str,
    ) -> PyResult<()> {
        let every = match (every, steps) {
            (Some(t), None) if t.is_finite() && t > 0.0 => Every::Seconds(t),
            (None, Some(Whole(n))) if n > 0 => Every::Steps(n),
            (None, None) => Every::Seconds(1.0 / 60.0),
            (Some(_), Some(_)) => return Err(input("every and steps: give one of the two")),
            _ => return Err(input("every (s) and steps must be above 0")),
        };
        self.at_length(py, |world| {
            let mut kept = self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if kept.is_some() {
                return Err("this world is being recorded already".to_string());
            }
            let wrong = |e: RecordError| e.to_string();
            if replace {
                remove(&folder).map_err(wrong)?;
            }
            let what = What { contacts, joints };
            let options = Options {
                folder,
                every,
                events: false,
                what,
                double,
                compress: true,
                scene: name.into(),
                h: world.settings().h,
            };
            let mut writer = Writer::create(options).map_err(wrong)?;
            writer.begin(world).map_err(wrong)?;
            *kept = Some(writer);
            Ok(())
        })
        .map_err(input)
    }

    /// Ends the recording; all of it is on the disk afterwards.
    fn _end_record(&self, py: Python<'_>) -> PyResult<()> {
        self.at_length(py, |_world| {
            let writer = self.record.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
            writer.map_or(Ok(()), |writer| writer.finish().map(|_| ()))
        })
        .map_err(input)
    }

    /// Shows the world in the viewer: see `ds.view`. A notebook displays what it returns.
    #[pyo3(signature = (duration=0.0, **how))]
    fn view<'py>(
        slf: &Bound<'py, Self>,
        #[pyo3(from_py_with = number)] duration: f64,
        how: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("drystone._view")?.getattr("view")?.call((slf, duration), how)
    }

    /// A page with the world as it is, after `duration` more seconds of simulated time if that is not 0, of
    /// which there are `frames` a second.
    #[pyo3(signature = (duration, frames, title))]
    fn _page(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = number)] duration: f64,
        #[pyo3(from_py_with = number)] frames: f64,
        #[pyo3(from_py_with = text)] title: &str,
    ) -> PyResult<String> {
        if !(duration.is_finite() && duration >= 0.0) {
            return Err(input(format!("duration must be finite and not negative, s, got {duration}")));
        }
        if !(frames > 0.0 && frames <= 1e6) {
            return Err(input(format!("frames must be above 0 and at most 1e6 a second, got {frames}")));
        }
        let (mut recorder, store, steps) = slf.get().with(slf.py(), |w| {
            let s = w.settings();
            let hello = Hello {
                name: title.into(),
                title: title.into(),
                step_s: s.h,
                duration_s: duration,
                tolerance: s.tolerance,
                gravity: s.gravity.to_array(),
                ..Hello::default()
            };
            let store = Arc::new(Store::new(hello, MOST_FRAMES));
            let steps = (duration / s.h).round() as u64;
            (Recorder::new(store.clone(), w, &[], 1.0 / frames), store, steps)
        });
        let mut fits = true;
        Self::take_steps(slf, steps, |world, report| {
            fits = fits && recorder.observe(world, report);
            true
        })?;
        if !fits {
            return Err(input(format!(
                "the frames take more than {} MiB: ask for fewer a second",
                MOST_FRAMES >> 20
            )));
        }
        store.close("");
        detached(slf.py(), || html(store.as_ref()))
    }
}

/// A page with all frames.
fn html(frames: &dyn Frames) -> PyResult<String> {
    export::html(frames).map_err(input)
}

/// The page of a recording.
#[pyfunction]
pub fn recording_page(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    detached(py, || {
        let replay = Replay::open(&path, MOST_FRAMES).map_err(input)?;
        html(&replay)
    })
}
