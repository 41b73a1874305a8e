//! The form of the pair of fences is chosen once: no light fence that binds the compiler only ever meets a heavy
//! fence that is an ordinary one, whoever chooses when.

use terrace_sync::{Arc, Choice, FenceKind, model, thread};

/// What a thread's fences were: its light ones, its heavy ones.
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

/// Two threads choose, one of which is refused the barrier, and a third only publishes.
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

/// What the choice is prepared with: whether the process is registered.
struct Registered(terrace_sync::cell::UnsafeCell<bool>);

// SAFETY: written by the thread that chooses, once, before the choice; read after it. loom checks that.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Registered {
    fn register(&self) {
        self.0.with_mut(|flag| {
            // SAFETY: nobody reads before the choice that follows.
            unsafe { *flag = true }
        });
    }

    /// Only for who has seen the choice of the thread that registers.
    fn is_done(&self) -> bool {
        self.0.with(|flag| {
            // SAFETY: the choice of the only writer is seen.
            unsafe { *flag }
        })
    }
}

/// Whoever finds the choice made finds done what it was prepared with: the first barrier must not come before the
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
