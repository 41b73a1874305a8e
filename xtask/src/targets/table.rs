//! The targets, and how each is tested.

use std::fmt::Write;

/// What a user of the layers may build for.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// How this machine runs its tests.
    pub(super) imitation: Option<Imitation>,
    /// The runner of the workflow that has such hardware and system, or nothing.
    pub(super) hardware: &'static str,
}

/// A way to run programs of another system or machine here.
pub(super) struct Imitation {
    pub(super) system: System,
    pub(super) linker: &'static str,
    pub(super) rustflags: &'static str,
    /// Debian's packages with all of these.
    pub(super) packages: &'static str,
    /// The tests that it cannot run.
    pub(super) left_out: &'static [LeftOut],
}

/// A test, and why it is not run.
pub(super) struct LeftOut {
    pub(super) test: &'static str,
    pub(super) why: &'static str,
}

/// What programs cannot do under qemu.
const UNDER_QEMU: [LeftOut; 5] = [
    sandboxed("a_refused_barrier_means_symmetric_fences"),
    sandboxed("a_thief_is_told_that_the_barrier_is_refused"),
    sandboxed("a_wait_for_all_tasks_ends_where_the_barrier_is_refused"),
    sandboxed("thieves_sleep_where_the_barrier_is_refused"),
    LeftOut {
        test: "one_spawn_or_join_a_millisecond_costs_little",
        why: "most of the processor's time is qemu's own",
    },
];

const fn sandboxed(test: &'static str) -> LeftOut {
    let why = "qemu passes no filter of system calls on to the kernel";
    LeftOut { test, why }
}

/// What programs cannot do under Wine.
const UNDER_WINE: [LeftOut; 1] = [LeftOut {
    test: "the_errors_name_the_mend",
    why: "it starts cargo, which is a program of the system below Wine",
}];

/// What runs the programs.
#[derive(Clone, Copy)]
pub(super) enum System {
    /// The one of this machine.
    Same,
    /// The one that these words before a program emulate.
    Emulated(&'static str),
    /// Wine.
    Windows,
}

pub(super) const TARGETS: [Target; 16] = [
    target("x86_64-pc-windows-gnu").imitated(Imitation {
        system: System::Windows,
        linker: "x86_64-w64-mingw32-gcc",
        rustflags: "",
        packages: "wine wine64 gcc-mingw-w64-x86-64",
        left_out: &UNDER_WINE,
    }),
    target("x86_64-pc-windows-msvc").on("windows-latest"),
    target("aarch64-apple-darwin").on("macos-latest"),
    target("x86_64-apple-darwin"),
    target("aarch64-linux-android"),
    target("armv7-linux-androideabi"),
    target("aarch64-unknown-linux-gnu")
        .imitated(emulated(
            "qemu-aarch64 -L /usr/aarch64-linux-gnu",
            "aarch64-linux-gnu-gcc",
            "qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        ))
        .on("ubuntu-24.04-arm"),
    target("armv7-unknown-linux-gnueabihf").imitated(emulated(
        "qemu-arm -L /usr/arm-linux-gnueabihf",
        "arm-linux-gnueabihf-gcc",
        "qemu-user gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
    )),
    // Without 64-bit atomics.
    target("armv5te-unknown-linux-gnueabi"),
    target("riscv64gc-unknown-linux-gnu"),
    target("s390x-unknown-linux-gnu").imitated(emulated(
        "qemu-s390x -L /usr/s390x-linux-gnu",
        "s390x-linux-gnu-gcc",
        "qemu-user gcc-s390x-linux-gnu libc6-dev-s390x-cross",
    )),
    target("powerpc64-unknown-linux-gnu"),
    target("i686-unknown-linux-gnu").imitated(Imitation {
        system: System::Same,
        linker: "i686-linux-gnu-gcc",
        // The C library where the cross compiler's package puts it.
        rustflags: "-Clink-arg=-Wl,--dynamic-linker=/usr/i686-linux-gnu/lib/ld-linux.so.2 \
                    -Clink-arg=-Wl,-rpath=/usr/i686-linux-gnu/lib",
        packages: "gcc-i686-linux-gnu libc6-dev-i386-cross",
        left_out: &[],
    }),
    target("x86_64-unknown-freebsd"),
    target("wasm32-unknown-unknown"),
    target("wasm32-wasip1"),
];

const fn target(name: &'static str) -> Target {
    Target {
        name,
        imitation: None,
        hardware: "",
    }
}

/// Another machine's Linux, by qemu.
const fn emulated(runner: &'static str, linker: &'static str, packages: &'static str) -> Imitation {
    Imitation {
        system: System::Emulated(runner),
        linker,
        rustflags: "",
        packages,
        left_out: &UNDER_QEMU,
    }
}

impl Target {
    const fn imitated(mut self, imitation: Imitation) -> Self {
        self.imitation = Some(imitation);
        self
    }

    const fn on(mut self, hardware: &'static str) -> Self {
        self.hardware = hardware;
        self
    }
}

impl System {
    /// The words before a program, unless it starts as any other one.
    pub(super) const fn runner(self) -> Option<&'static str> {
        match self {
            Self::Same => None,
            Self::Emulated(words) => Some(words),
            Self::Windows => Some("wine"),
        }
    }
}

impl Imitation {
    /// The programs that it needs, each with Debian's packages.
    pub(super) fn programs(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let runner = self.system.runner();
        let runner = runner.and_then(|words| words.split(' ').next());
        let programs = runner.into_iter().chain([self.linker]);
        programs.map(|program| (program, self.packages))
    }
}

/// The table of docs/platforms.md, and what is left out of the tests.
pub(super) fn markdown(targets: &[&Target]) -> String {
    let mut table =
        "| target | tests here | tests by the workflow on |\n|---|---|---|\n".to_owned();
    for target in targets {
        let here = target
            .imitation
            .as_ref()
            .map(|imitation| match imitation.system {
                System::Same => "natively",
                System::Emulated(_) => "under qemu",
                System::Windows => "under Wine",
            });
        let here = here.unwrap_or("no");
        let hardware = match target.hardware {
            "" => "no",
            name => name,
        };
        writeln!(table, "| {} | {here} | {hardware} |", target.name).expect("strings grow");
    }
    table.push('\n');
    let left_out = [("qemu", &UNDER_QEMU[..]), ("Wine", &UNDER_WINE)];
    for (system, left_out) in left_out {
        for LeftOut { test, why } in left_out {
            writeln!(table, "- `{test}` is not run under {system}: {why}.").expect("strings grow");
        }
    }
    table
}
