//! Functions of `ntdll` that are not there in all versions of Windows and Wine.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::NonNull;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetModuleHandleA(name: *const c_char) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Where `ntdll` has this function, if it has it.
pub(crate) fn address(function: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name is a C string, and the call only reads it.
    let module = NonNull::new(unsafe { GetModuleHandleA(c"ntdll.dll".as_ptr()) })?;
    // SAFETY: `ntdll` is loaded, and never unloaded; the name is a C string, which the call only reads.
    NonNull::new(unsafe { GetProcAddress(module.as_ptr(), function.as_ptr()) })
}
