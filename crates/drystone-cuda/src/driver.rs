//! The functions of NVIDIA's driver that are used, loaded when they are first asked for: the program is built
//! and started without them.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

use libloading::Library;

use crate::error::Error;

/// CUDA 13.0, whose PTX the kernels are.
pub(crate) const NEEDED: i32 = 13000;

/// Compute capability of the oldest device that the PTX can be compiled for.
const OLDEST: (i32, i32) = (7, 5);

const OUT_OF_MEMORY: c_int = 2;

/// Where the system's driver is.
pub(crate) fn library_name() -> &'static str {
    if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" }
}

/// What the system's loader said, where it said anything.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// A function of the library.
///
/// # Safety
/// `F` is its type.
unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, Error> {
    // SAFETY: as the caller promises.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    found.map(|f| *f).map_err(|e| Error::NoDriver { library: library_name().into(), reason: reason(&e) })
}

macro_rules! functions {
    (
        safe { $($field:ident = $symbol:literal ($($argument:ty),*);)* }
        pointers { $($raw:ident = $raw_symbol:literal ($($raw_argument:ty),*);)* }
    ) => {
        /// Pointers into the driver; they stay valid as long as the library is held. Those that take nothing
        /// but numbers and places to write to may be called with any.
        struct Functions {
            $($field: extern "system" fn($($argument),*) -> c_int,)*
            $($raw: unsafe extern "system" fn($($raw_argument),*) -> c_int,)*
        }

        impl Functions {
            fn load(library: &Library) -> Result<Self, Error> {
                // SAFETY: the types are those of the driver's header, and the pointers are kept beside the
                // library.
                unsafe {
                    Ok(Self {
                        $($field: symbol(library, $symbol)?,)*
                        $($raw: symbol(library, $raw_symbol)?,)*
                    })
                }
            }
        }
    };
}

functions! {
    safe {
        init = "cuInit" (c_uint);
        driver_version = "cuDriverGetVersion" (&mut c_int);
        device_count = "cuDeviceGetCount" (&mut c_int);
        device_get = "cuDeviceGet" (&mut c_int, c_int);
        device_memory = "cuDeviceTotalMem_v2" (&mut usize, c_int);
        device_attribute = "cuDeviceGetAttribute" (&mut c_int, c_int, c_int);
        context_retain = "cuDevicePrimaryCtxRetain" (&mut usize, c_int);
        memory_info = "cuMemGetInfo_v2" (&mut usize, &mut usize);
        alloc = "cuMemAlloc_v2" (&mut u64, usize);
        alloc_host = "cuMemAllocHost_v2" (&mut *mut c_void, usize);
        stream_create = "cuStreamCreate" (&mut usize, c_uint);
    }
    pointers {
        device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
        context_set = "cuCtxSetCurrent" (usize);
        module_load = "cuModuleLoadData" (*mut usize, *const c_void);
        module_function = "cuModuleGetFunction" (*mut usize, usize, *const c_char);
        free = "cuMemFree_v2" (u64);
        free_host = "cuMemFreeHost" (*mut c_void);
        upload = "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, usize);
        download = "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, usize);
        stream_synchronize = "cuStreamSynchronize" (usize);
        launch = "cuLaunchKernel" (usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize, *mut *mut c_void, *mut *mut c_void);
        capture_begin = "cuStreamBeginCapture_v2" (usize, c_int);
        capture_end = "cuStreamEndCapture" (usize, *mut usize);
        graph_instantiate = "cuGraphInstantiateWithFlags" (*mut usize, usize, u64);
        graph_update = "cuGraphExecUpdate_v2" (usize, usize, *mut [u64; 4]);
        graph_launch = "cuGraphLaunch" (usize, usize);
        graph_destroy = "cuGraphDestroy" (usize);
        executable_destroy = "cuGraphExecDestroy" (usize);
        error_name = "cuGetErrorName" (c_int, *mut *const c_char);
        error_text = "cuGetErrorString" (c_int, *mut *const c_char);
    }
}

/// A device as the driver describes it.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Device {
    /// Its number, from 0.
    pub number: i32,
    /// Its name.
    pub name: String,
    /// Compute capability: major, minor.
    pub capability: (i32, i32),
    /// Memory, bytes.
    pub memory: usize,
    /// Multiprocessors.
    pub multiprocessors: i32,
    /// What its memory moves at most, GB/s: clock, both edges, and width of the bus; 0 where the driver does
    /// not say.
    pub gb_per_s: f64,
}

impl Device {
    /// Refuses a device that the kernels cannot be compiled for.
    pub fn check(&self) -> Result<(), Error> {
        let (major, minor) = self.capability;
        match self.capability >= OLDEST {
            true => Ok(()),
            false => Err(Error::OldDevice { name: self.name.clone(), major, minor }),
        }
    }
}

/// The driver, looked over and initialised.
pub(crate) struct Driver {
    functions: Functions,
    version: i32,
    _library: Library,
}

impl Driver {
    /// Loads the driver from a library and looks whether it is new enough.
    pub fn load(library: &Path) -> Result<Self, Error> {
        // SAFETY: the driver's library runs no code on loading that touches this program's memory.
        let loaded = unsafe { Library::new(library) }
            .map_err(|e| Error::NoDriver { library: library.display().to_string(), reason: reason(&e) })?;
        let functions = Functions::load(&loaded)?;
        let mut driver = Self { functions, version: 0, _library: loaded };
        let mut version = 0;
        driver.check("cuDriverGetVersion", (driver.functions.driver_version)(&mut version))?;
        if version < NEEDED {
            return Err(Error::OldDriver { found: version, needed: NEEDED });
        }
        driver.version = version;
        driver.check("cuInit", (driver.functions.init)(0)).map_err(|e| match e {
            Error::Call { reason, .. } => Error::NoDevice { reason },
            other => other,
        })?;
        Ok(driver)
    }

    /// The CUDA version that the driver supports: 1000 major + 10 minor.
    pub fn version(&self) -> i32 {
        self.version
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), Error> {
        if code == 0 {
            return Ok(());
        }
        let text = |get: unsafe extern "system" fn(c_int, *mut *const c_char) -> c_int| {
            let mut text = std::ptr::null();
            // SAFETY: the pointer is to a live variable; what it becomes is null or a string of the driver's
            // own.
            unsafe {
                get(code, &mut text);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let name = text(self.functions.error_name).unwrap_or_else(|| format!("error {code}"));
        let reason = match text(self.functions.error_text) {
            Some(text) => format!("{name} ({text})"),
            None => name,
        };
        Err(Error::Call { call, reason })
    }

    /// All devices.
    pub fn devices(&self) -> Result<Vec<Device>, Error> {
        let f = &self.functions;
        let mut count = 0;
        self.check("cuDeviceGetCount", (f.device_count)(&mut count))?;
        (0..count).map(|number| self.device(number)).collect()
    }

    fn device(&self, number: i32) -> Result<Device, Error> {
        const MULTIPROCESSORS: c_int = 16;
        const CLOCK: c_int = 36;
        const WIDTH: c_int = 37;
        const MAJOR: c_int = 75;
        const MINOR: c_int = 76;
        let f = &self.functions;
        let (mut handle, mut memory) = (0, 0);
        let mut name = [0u8; 256];
        self.check("cuDeviceGet", (f.device_get)(&mut handle, number))?;
        // SAFETY: the pointer is to a live variable, whose length is told.
        let code = unsafe { (f.device_name)(name.as_mut_ptr().cast(), name.len() as c_int, handle) };
        self.check("cuDeviceGetName", code)?;
        self.check("cuDeviceTotalMem", (f.device_memory)(&mut memory, handle))?;
        let attribute = |which: c_int| {
            let mut value = 0;
            self.check("cuDeviceGetAttribute", (f.device_attribute)(&mut value, which, handle))?;
            Ok(value)
        };
        let end = name.iter().position(|c| *c == 0).unwrap_or(name.len());
        Ok(Device {
            number,
            name: String::from_utf8_lossy(&name[..end]).into_owned(),
            capability: (attribute(MAJOR)?, attribute(MINOR)?),
            memory,
            multiprocessors: attribute(MULTIPROCESSORS)?,
            // kHz and bits. A driver that has forgotten one of them has no error of its own for that.
            gb_per_s: 2e-6
                * f64::from(attribute(CLOCK).unwrap_or(0))
                * f64::from(attribute(WIDTH).unwrap_or(0))
                / 8.0,
        })
    }

    /// The primary context of a device.
    pub fn context(&self, number: i32) -> Result<usize, Error> {
        let (mut handle, mut context) = (0, 0);
        self.check("cuDeviceGet", (self.functions.device_get)(&mut handle, number))?;
        self.check("cuDevicePrimaryCtxRetain", (self.functions.context_retain)(&mut context, handle))?;
        Ok(context)
    }

    /// Makes a context that of the calling thread.
    pub fn enter(&self, context: usize) -> Result<(), Error> {
        // SAFETY: contexts are handles from `context`, which are never released.
        self.check("cuCtxSetCurrent", unsafe { (self.functions.context_set)(context) })
    }

    /// Compiles PTX for the device of the current context. Returns the module.
    pub fn module(&self, ptx: &CStr) -> Result<usize, Error> {
        let mut module = 0;
        // SAFETY: the text ends with a zero, and the pointer is to a live variable.
        let code = unsafe { (self.functions.module_load)(&mut module, ptx.as_ptr().cast()) };
        self.check("cuModuleLoadData", code)?;
        Ok(module)
    }

    /// A kernel of a module.
    pub fn function(&self, module: usize, name: &CStr) -> Result<usize, Error> {
        let mut function = 0;
        // SAFETY: the name ends with a zero, and the pointer is to a live variable.
        let code = unsafe { (self.functions.module_function)(&mut function, module, name.as_ptr()) };
        self.check("cuModuleGetFunction", code)?;
        Ok(function)
    }

    /// A stream of the current context.
    pub fn stream(&self) -> Result<usize, Error> {
        const NON_BLOCKING: c_uint = 1;
        let mut stream = 0;
        self.check("cuStreamCreate", (self.functions.stream_create)(&mut stream, NON_BLOCKING))?;
        Ok(stream)
    }

    /// Free memory of the current context's device, bytes.
    pub fn free_memory(&self) -> Result<usize, Error> {
        let (mut free, mut total) = (0, 0);
        self.check("cuMemGetInfo", (self.functions.memory_info)(&mut free, &mut total))?;
        Ok(free)
    }

    /// Device memory, or None where there is too little.
    pub fn alloc(&self, bytes: usize) -> Result<Option<u64>, Error> {
        let mut address = 0;
        let code = (self.functions.alloc)(&mut address, bytes);
        if code == OUT_OF_MEMORY {
            return Ok(None);
        }
        self.check("cuMemAlloc", code)?;
        Ok(Some(address))
    }

    /// Gives device memory back. Errors are left for the next call to meet.
    ///
    /// # Safety
    /// The address is from [`Driver::alloc`], and nothing uses it any more.
    pub unsafe fn free(&self, address: u64) {
        // SAFETY: the caller's.
        unsafe { (self.functions.free)(address) };
    }

    /// Host memory that the device copies from and to directly.
    pub fn alloc_host(&self, bytes: usize) -> Result<*mut c_void, Error> {
        let mut address = std::ptr::null_mut();
        self.check("cuMemAllocHost", (self.functions.alloc_host)(&mut address, bytes))?;
        Ok(address)
    }

    /// Gives host memory back.
    ///
    /// # Safety
    /// The address is from [`Driver::alloc_host`], and nothing uses it any more.
    pub unsafe fn free_host(&self, address: *mut c_void) {
        // SAFETY: the caller's.
        unsafe { (self.functions.free_host)(address) };
    }

    /// Copies to the device, in the order of the stream.
    ///
    /// # Safety
    /// Both ranges are there until the stream was waited for, and nobody writes to them meanwhile.
    pub unsafe fn upload(
        &self,
        to: u64,
        from: *const c_void,
        bytes: usize,
        stream: usize,
    ) -> Result<(), Error> {
        // SAFETY: the caller's.
        self.check("cuMemcpyHtoDAsync", unsafe { (self.functions.upload)(to, from, bytes, stream) })
    }

    /// Copies from the device, in the order of the stream.
    ///
    /// # Safety
    /// Both ranges are there until the stream was waited for, and nobody else touches them meanwhile.
    pub unsafe fn download(
        &self,
        to: *mut c_void,
        from: u64,
        bytes: usize,
        stream: usize,
    ) -> Result<(), Error> {
        // SAFETY: the caller's.
        self.check("cuMemcpyDtoHAsync", unsafe { (self.functions.download)(to, from, bytes, stream) })
    }

    /// Waits until all that was put into the stream is done.
    pub fn wait(&self, stream: usize) -> Result<(), Error> {
        // SAFETY: streams are handles from `stream`, which are never destroyed.
        self.check("cuStreamSynchronize", unsafe { (self.functions.stream_synchronize)(stream) })
    }

    /// Starts a kernel with one argument.
    ///
    /// # Safety
    /// The kernel takes a `T`, and all addresses in it are those of device memory as large as the kernel
    /// expects.
    pub unsafe fn launch<T>(
        &self,
        function: usize,
        blocks: u32,
        threads: u32,
        stream: usize,
        argument: &T,
    ) -> Result<(), Error> {
        let mut arguments = [std::ptr::from_ref(argument).cast_mut().cast::<c_void>()];
        // SAFETY: the driver copies the argument before it returns; the rest is the caller's.
        let code = unsafe {
            (self.functions.launch)(
                function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        self.check("cuLaunchKernel", code)
    }

    /// What is put into the stream from now on is recorded, and not done.
    pub fn begin_recording(&self, stream: usize) -> Result<(), Error> {
        const THREAD_LOCAL: c_int = 1;
        // SAFETY: no pointers.
        let code = unsafe { (self.functions.capture_begin)(stream, THREAD_LOCAL) };
        self.check("cuStreamBeginCapture", code)
    }

    /// The end of a recording: a graph.
    pub fn end_recording(&self, stream: usize) -> Result<usize, Error> {
        let mut graph = 0;
        // SAFETY: the pointer is to a live variable.
        let code = unsafe { (self.functions.capture_end)(stream, &mut graph) };
        self.check("cuStreamEndCapture", code)?;
        Ok(graph)
    }

    /// Makes a graph ready to be played; `old` is one with the same kernels in the same order, or 0. The
    /// graph is done with.
    pub fn ready(&self, graph: usize, old: usize) -> Result<usize, Error> {
        let f = &self.functions;
        let mut ready = old;
        let mut why = [0; 4];
        // SAFETY: handles are the driver's own, and pointers are to live variables.
        unsafe {
            let code = match old {
                0 => (f.graph_instantiate)(&mut ready, graph, 0),
                old if (f.graph_update)(old, graph, &mut why) == 0 => 0,
                old => {
                    (f.executable_destroy)(old);
                    (f.graph_instantiate)(&mut ready, graph, 0)
                }
            };
            (f.graph_destroy)(graph);
            self.check("cuGraphInstantiate", code)?;
        }
        Ok(ready)
    }

    /// Puts all that was recorded into the stream.
    ///
    /// # Safety
    /// As [`Driver::launch`] of every kernel in it.
    pub unsafe fn play(&self, ready: usize, stream: usize) -> Result<(), Error> {
        // SAFETY: the caller's.
        self.check("cuGraphLaunch", unsafe { (self.functions.graph_launch)(ready, stream) })
    }
}
