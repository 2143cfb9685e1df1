//! A finished image, and its way to and from PNG bytes.

use std::io::Write;
use std::path::Path;

/// Rows of pixels from top to bottom, three bytes (red, green, blue) each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `3 * width * height` bytes, sRGB.
    pub rgb: Vec<u8>,
    /// Items that could not be drawn because their place or dimensions are not finite or otherwise unsound.
    pub left_out: usize,
}

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The file could not be created or written.
    #[error("cannot write {path}: {source}")]
    File {
        /// Where the image was to go.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The image could not be encoded, for instance because it has no pixels.
    #[error("cannot encode the image: {0}")]
    Encode(#[from] png::EncodingError),
}

impl Image {
    /// Red, green and blue of the pixel in column `x` of row `y`.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        let k = 3 * (y * self.width + x);
        [self.rgb[k], self.rgb[k + 1], self.rgb[k + 2]]
    }

    /// Writes the image as a PNG file, whole or not at all.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PngError> {
        let path = path.as_ref();
        let at = |source| PngError::File { path: path.display().to_string(), source };
        let mut bytes = Vec::new();
        self.encode_png(&mut bytes)?;
        crate::file::write(path, &bytes).map_err(at)
    }

    /// Writes the image in PNG format to anything that takes bytes.
    pub fn encode_png(&self, out: impl Write) -> Result<(), PngError> {
        let mut encoder = png::Encoder::new(out, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        // By this a later picture knows that it may take this one's place.
        encoder.add_text_chunk("Software".into(), "drystone".into())?;
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.rgb)?;
        Ok(writer.finish()?)
    }

    /// Mixes a colour into a pixel; `cover` is the share of the pixel it takes. Outside of the image nothing
    /// happens.
    pub(super) fn blend(&mut self, x: i64, y: i64, colour: [u8; 3], cover: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let k = 3 * (y as usize * self.width + x as usize);
        for (c, new) in self.rgb[k..k + 3].iter_mut().zip(colour) {
            let old = f32::from(*c);
            *c = (old + (f32::from(new) - old) * cover.clamp(0.0, 1.0) + 0.5) as u8;
        }
    }
}
