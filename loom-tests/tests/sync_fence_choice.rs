//! The process chooses the form of its fences once. No light fence that binds only the compiler ever meets a heavy
//! fence that is an ordinary one, whichever thread chooses at any time.

use terrace_sync::{Arc, Choice, FenceKind, model, thread};

/// The forms of a thread's fences: of its light ones, of its heavy ones.
type Seen = (Vec<FenceKind>, Vec<FenceKind>);

fn assert_never_mixed(all: &[Seen]) {
    let light_only = all
        .iter()
        .any(|(light, _)| light.contains(&FenceKind::Asymmetric));
    let plain = all
        .iter()
        .any(|(_, heavy)| heavy.contains(&FenceKind::Symmetric));
    assert!(
        !(light_only && plain),
        "a compiler fence meets a fence of one side: {all:?}"
    );
}

/// Two threads choose, and the system refuses the barrier to one of them. A third only publishes.
///
/// Fails under `sync-choice-unresolved` (a heavy fence that is plain while the choice is being made) and
/// `sync-choice-overwritten` (the last to choose wins).
#[test]
fn sync_fence_forms_are_never_mixed() {
    model(|| {
        let choice = Arc::new(Choice::new());
        let chooser = |wanted| {
            let choice = Arc::clone(&choice);
            thread::spawn(move || -> Seen {
                let heavy = choice.heavy(|| wanted);
                (vec![choice.light()], vec![heavy])
            })
        };
        let able = chooser(FenceKind::Asymmetric);
        let refused = chooser(FenceKind::Symmetric);
        let published = (vec![choice.light(), choice.light()], vec![]);
        let all = [
            published,
            able.join().expect("ends"),
            refused.join().expect("ends"),
        ];
        assert_never_mixed(&all);
        let heavy: Vec<_> = all.iter().flat_map(|(_, heavy)| heavy).collect();
        assert_eq!(heavy[0], heavy[1], "both act on one choice");
    });
}

/// The preparation of the choice: whether the process is registered.
struct Registered(terrace_sync::cell::UnsafeCell<bool>);

// SAFETY: the thread that chooses writes it once, before the choice; other threads read it after that. loom checks
// this.
unsafe impl Send for Registered {}
// SAFETY: readers share it only after the choice, which the write precedes. loom checks this.
unsafe impl Sync for Registered {}

impl Registered {
    fn register(&self) {
        self.0.with_mut(|flag| {
            // SAFETY: no thread reads before it sees the choice, which follows this write.
            unsafe { *flag = true }
        });
    }

    /// The caller has seen the choice of the thread that registers.
    fn is_done(&self) -> bool {
        self.0.with(|flag| {
            // SAFETY: the choice of the only writer is seen.
            unsafe { *flag }
        })
    }
}

/// A thread that finds the choice made sees its preparation done: the first barrier must not come before the
/// registration of the process.
///
/// Fails under `sync-choice-relaxed`.
#[test]
fn sync_fence_choice_is_prepared() {
    model(|| {
        let choice = Arc::new(Choice::new());
        let registered = Arc::new(Registered(terrace_sync::cell::UnsafeCell::new(false)));
        let (other, theirs) = (Arc::clone(&choice), Arc::clone(&registered));
        let chooser = thread::spawn(move || {
            other.heavy(|| {
                theirs.register();
                FenceKind::Asymmetric
            })
        });
        // A thread that chooses by itself has not registered anything here: only the other's choice counts.
        if choice.heavy(|| FenceKind::Symmetric) == FenceKind::Asymmetric {
            assert!(
                registered.is_done(),
                "the barrier comes after the registration"
            );
        }
        chooser.join().expect("ends");
    });
}
