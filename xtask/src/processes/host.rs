//! Loads a library, calls it on this thread and on another one, and closes it: again and again.

use std::ffi::CString;
use std::mem::transmute;

fn main() {
    let path = std::env::args().nth(1).expect("the path of the library");
    let path = CString::new(path).expect("a path has no zero");
    for _ in 0..20 {
        // SAFETY: the path is a C string. The library's initializers are those of Rust's standard library.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
        assert!(!library.is_null(), "the library loads");
        // SAFETY: the library is open, and the name is a C string.
        let run = unsafe { libc::dlsym(library, c"run".as_ptr()) };
        assert!(!run.is_null(), "the library has the function");
        // SAFETY: the library declares it so.
        let run = unsafe { transmute::<*mut libc::c_void, extern "C" fn() -> u64>(run) };
        assert_eq!(run(), 385);
        let other = std::thread::spawn(move || run());
        assert_eq!(other.join().expect("the call returns"), 385);
        // SAFETY: it is open, and its pools have ended.
        assert_eq!(unsafe { libc::dlclose(library) }, 0);
    }
}
