//! One device, its context and the compiled kernels; memory that grows.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use crate::driver::{self, Device, Driver};
use crate::error::Error;
use crate::kernels::{Argument, Kernel, NAMES, PTX};
use crate::usage::Usage;

/// A device that is ready to solve.
pub struct Engine {
    driver: Driver,
    device: Device,
    context: usize,
    functions: Vec<usize>,
    /// What it was used for.
    usage: Mutex<Usage>,
    /// The error that ended the last solve.
    failure: Mutex<Option<Error>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Engine").field("device", &self.device).finish_non_exhaustive()
    }
}

/// All devices of the system's driver.
pub fn devices() -> Result<(i32, Vec<Device>), Error> {
    let driver = Driver::load(Path::new(driver::library_name()))?;
    let found = driver.devices()?;
    Ok((driver.version(), found))
}

impl Engine {
    /// The system's first device, opened once.
    pub fn shared() -> Result<Arc<Self>, Error> {
        static SHARED: OnceLock<Result<Arc<Engine>, Error>> = OnceLock::new();
        SHARED.get_or_init(|| Self::open(Path::new(driver::library_name())).map(Arc::new)).clone()
    }

    /// The first device of the driver in this library.
    pub fn open(library: &Path) -> Result<Self, Error> {
        let driver = Driver::load(library)?;
        let device = driver
            .devices()?
            .into_iter()
            .next()
            .ok_or_else(|| Error::NoDevice { reason: "0 devices".into() })?;
        device.check()?;
        let context = driver.context(device.number)?;
        driver.enter(context)?;
        let text = CString::new(PTX).map_err(|_| Error::Unsupported("the PTX has a zero in it".into()))?;
        let module = driver.module(&text)?;
        let functions = NAMES.iter().map(|name| driver.function(module, name)).collect::<Result<_, _>>()?;
        Ok(Self { driver, device, context, functions, usage: Mutex::default(), failure: Mutex::default() })
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What it was used for so far.
    pub fn usage(&self) -> Usage {
        self.usage.lock().map_or_else(|e| e.into_inner().clone(), |u| u.clone())
    }

    /// The error that ended the last solve, if one did.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().map_or_else(|e| e.into_inner().clone(), |e| e.clone())
    }

    pub(crate) fn used(&self, change: impl FnOnce(&mut Usage)) {
        if let Ok(mut usage) = self.usage.lock() {
            change(&mut usage);
        }
    }

    pub(crate) fn failed(&self, error: &Error) {
        if let Ok(mut failure) = self.failure.lock() {
            *failure = Some(error.clone());
        }
    }

    /// Makes the device that of the calling thread.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        self.driver.enter(self.context)
    }

    pub(crate) fn stream(&self) -> Result<usize, Error> {
        self.driver.stream()
    }

    /// Starts a kernel.
    ///
    /// # Safety
    /// The argument is the kernel's, and all addresses in it are those of device memory as large as the
    /// counts say.
    pub(crate) unsafe fn launch<T: Argument>(
        &self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        stream: usize,
        args: &T,
    ) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { self.driver.launch(self.functions[kernel as usize], blocks, threads, stream, args) }
    }
}

/// Launches that are recorded once and played many times: the host takes some microseconds for each launch,
/// and one play is one.
pub(crate) struct Recording {
    engine: Arc<Engine>,
    ready: usize,
}

impl Recording {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, ready: 0 }
    }

    /// Records what `launches` puts into the stream, in place of what was recorded before.
    pub fn record(
        &mut self,
        stream: usize,
        launches: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let driver = &self.engine.driver;
        driver.begin_recording(stream)?;
        let launched = launches();
        let graph = driver.end_recording(stream)?;
        launched?;
        let old = std::mem::take(&mut self.ready);
        self.ready = driver.ready(graph, old)?;
        Ok(())
    }

    /// Plays it.
    ///
    /// # Safety
    /// What was recorded may still be launched: its memory is where it was.
    pub unsafe fn play(&self, stream: usize) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { self.engine.driver.play(self.ready, stream) }
    }
}

/// Device memory that grows and is never made smaller.
pub(crate) struct DeviceMemory {
    engine: Arc<Engine>,
    address: u64,
    bytes: usize,
}

impl DeviceMemory {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, address: 0, bytes: 0 }
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes room for `bytes`; what was there is lost where that takes a new place.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Error> {
        if bytes <= self.bytes {
            return Ok(());
        }
        self.release();
        // A quarter more than was asked for, so that a growing pile does not ask in every step.
        for wished in [bytes + bytes / 4, bytes] {
            if let Some(address) = self.engine.driver.alloc(wished)? {
                (self.address, self.bytes) = (address, wished);
                return Ok(());
            }
        }
        let free = self.engine.driver.free_memory()?;
        Err(Error::Memory { name: self.engine.device.name.clone(), needed: bytes, free })
    }

    fn release(&mut self) {
        if self.address != 0 {
            // SAFETY: the address is this memory's own, and solves wait for their kernels before they return.
            unsafe { self.engine.driver.free(self.address) };
        }
        (self.address, self.bytes) = (0, 0);
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if self.engine.enter().is_ok() {
            self.release();
        }
    }
}

/// Host memory that the device copies from and to; words of eight bytes.
pub(crate) struct HostMemory {
    engine: Arc<Engine>,
    words: *mut u64,
    count: usize,
}

// SAFETY: the memory belongs to this value alone, and is plain numbers.
unsafe impl Send for HostMemory {}

impl HostMemory {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, words: std::ptr::null_mut(), count: 0 }
    }

    /// Makes room for `count` words; what was there is lost where that takes a new place.
    pub fn reserve(&mut self, count: usize) -> Result<(), Error> {
        if count <= self.count {
            return Ok(());
        }
        self.release();
        let wished = count + count / 4;
        let words = self.engine.driver.alloc_host(8 * wished)?.cast::<u64>();
        // SAFETY: the memory was just made and is as large.
        unsafe { words.write_bytes(0, wished) };
        (self.words, self.count) = (words, wished);
        Ok(())
    }

    /// The words.
    pub fn words(&mut self) -> &mut [u64] {
        if self.words.is_null() {
            return &mut [];
        }
        // SAFETY: `count` words were made and zeroed, and are borrowed with the value.
        unsafe { std::slice::from_raw_parts_mut(self.words, self.count) }
    }

    /// Copies the first `count` words to the device, and waits.
    pub fn upload(&mut self, to: u64, count: usize, stream: usize) -> Result<(), Error> {
        assert!(count <= self.count, "as many words as there are");
        // SAFETY: the words are there, and nobody touches them before the wait is over.
        unsafe { self.engine.driver.upload(to, self.words.cast::<c_void>(), 8 * count, stream)? };
        self.engine.driver.wait(stream)
    }

    /// Copies the first `count` words from the device, and waits: for all that is in the stream.
    pub fn download(&mut self, from: u64, count: usize, stream: usize) -> Result<(), Error> {
        assert!(count <= self.count, "as many words as there are");
        // SAFETY: the words are there, and nobody touches them before the wait is over.
        unsafe { self.engine.driver.download(self.words.cast::<c_void>(), from, 8 * count, stream)? };
        self.engine.driver.wait(stream)
    }

    fn release(&mut self) {
        if !self.words.is_null() {
            // SAFETY: the address is this memory's own, and copies were waited for.
            unsafe { self.engine.driver.free_host(self.words.cast()) };
        }
        (self.words, self.count) = (std::ptr::null_mut(), 0);
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if self.engine.enter().is_ok() {
            self.release();
        }
    }
}
