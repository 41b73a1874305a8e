//! From qemu's entry to [`main`](crate::main): the PVH note, page tables, long mode, a stack.
//!
//! PVH enters the image in 32-bit protected mode with flat segments, paging and interrupts off, at the address that the
//! note names (Xen's `XEN_ELFNOTE_PHYS32_ENTRY`). The first GiB is mapped to itself with pages of 2 MiB.

use core::arch::global_asm;

global_asm!(
    r#"
    .section .note.pvh, "a", @note
    .balign 4
    .long 4                     // length of the name
    .long 4                     // length of the value
    .long 18                    // XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .long start32

    .section .bss.boot, "aw", @nobits
    .balign 4096
level4: .skip 4096
level3: .skip 4096
level2: .skip 4096
stack:  .skip {stack}
stack_end:

    .section .rodata.boot, "a"
    .balign 8
gdt:
    .quad 0
    .quad 0x00af9b000000ffff    // 8: code, 64 bits
    .quad 0x00cf93000000ffff    // 16: data
gdt_end:
gdt_pointer:
    .word gdt_end - gdt - 1
    .quad gdt

    .section .text.boot, "ax"
    .code32
    .global start32
start32:
    mov esp, offset stack_end
    // Each table's first entry points at the next table: present, writable.
    mov eax, offset level3
    or eax, 3
    mov [level4], eax
    mov eax, offset level2
    or eax, 3
    mov [level3], eax
    // 512 pages of 2 MiB: present, writable, large.
    xor ecx, ecx
2:  mov eax, ecx
    shl eax, 21
    or eax, 0x83
    mov [level2 + ecx * 8], eax
    inc ecx
    cmp ecx, 512
    jne 2b
    mov eax, offset level4
    mov cr3, eax
    mov eax, cr4
    or eax, 0x20                // physical address extension
    mov cr4, eax
    mov ecx, 0xc0000080         // the extended features
    rdmsr
    or eax, 0x100               // long mode
    wrmsr
    mov eax, cr0
    or eax, 0x80000001          // paging, protection
    mov cr0, eax
    lgdt [gdt_pointer]
    // A far jump to 8:start64, spelt out: the assembler's form differs between versions.
    .byte 0xea
    .long start64
    .word 8

    .code64
start64:
    mov ax, 16
    mov ds, ax
    mov es, ax
    mov ss, ax
    xor ebp, ebp
    call {main}
    ud2
    "#,
    main = sym crate::main,
    stack = const STACK,
);

/// Bytes of the only stack.
const STACK: usize = 256 * 1024;
