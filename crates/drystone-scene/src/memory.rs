//! What a probe has seen so far, as bytes, so that a run that is resumed measures on as if it had never
//! stopped.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Saves the fields that it is shown, or fills them with what was saved.
pub struct Memory {
    fields: Vec<(String, Vec<u8>)>,
    /// The field that is read next; None while saving.
    next: Option<usize>,
    wrong: Option<String>,
}

impl Memory {
    /// Keeps a field that changes while a scene runs. Saving and loading show the same fields in the same
    /// order.
    pub fn keep<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) {
        if self.wrong.is_some() {
            return;
        }
        let done = match &mut self.next {
            None => rmp_serde::to_vec(value)
                .map(|bytes| self.fields.push((name.into(), bytes)))
                .map_err(|e| format!("{name}: {e}")),
            Some(next) => match self.fields.get(*next) {
                Some((known, bytes)) if known == name => {
                    *next += 1;
                    rmp_serde::from_slice(bytes).map(|x| *value = x).map_err(|e| format!("{name}: {e}"))
                }
                _ => Err(format!("{name}: was not saved")),
            },
        };
        self.wrong = done.err();
    }
}

/// What a probe has seen.
///
/// # Errors
/// Naming a field that cannot be written.
pub(crate) fn save(show: impl FnOnce(&mut Memory)) -> Result<Vec<u8>, String> {
    let mut memory = Memory { fields: Vec::new(), next: None, wrong: None };
    show(&mut memory);
    match memory.wrong {
        None => rmp_serde::to_vec(&memory.fields).map_err(|e| e.to_string()),
        Some(wrong) => Err(wrong),
    }
}

/// Gives a probe of the same scene what [`save`] kept.
///
/// # Errors
/// Naming a field that was not saved, or one that the probe does not have.
pub(crate) fn load(show: impl FnOnce(&mut Memory), bytes: &[u8]) -> Result<(), String> {
    let fields: Vec<(String, Vec<u8>)> = rmp_serde::from_slice(bytes).map_err(|e| e.to_string())?;
    let mut memory = Memory { fields, next: Some(0), wrong: None };
    show(&mut memory);
    let left = memory.next.and_then(|next| memory.fields.get(next));
    match (memory.wrong, left) {
        (Some(wrong), _) => Err(wrong),
        (None, Some((name, _))) => Err(format!("{name}: the scene does not know it")),
        (None, None) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two(f64, Vec<u8>, &'static str);

    impl Two {
        fn memory(&mut self, memory: &mut Memory) {
            memory.keep("lowest", &mut self.0);
            memory.keep(self.2, &mut self.1);
        }
    }

    #[test]
    fn fields_come_back_and_strangers_are_named() {
        let bytes = save(|m| Two(f64::INFINITY, vec![3], "list").memory(m)).unwrap();
        let mut other = Two(0.0, Vec::new(), "list");
        load(|m| other.memory(m), &bytes).unwrap();
        assert_eq!((other.0, other.1), (f64::INFINITY, vec![3]));
        let text = load(|m| Two(0.0, Vec::new(), "lost").memory(m), &bytes).unwrap_err();
        assert_eq!(text, "lost: was not saved");
    }
}
