//! `LocalExecutor` against a model: random programs of spawns, wakes, cancellations and ticks, outside and inside
//! polls. Both must give the same polls and drops in the same order.
//!
//! Programs come from a fixed seed; a failure is shrunk and printed. `PROPTEST_RNG_SEED` chooses another one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use terrace_conformance::kind::LocalKind;
use terrace_conformance::kinds;
use terrace_local::Task;
use terrace_testing::Watchdog;

/// A step of a program outside polls, or of a task within one poll. Numbers choose among the tasks that exist, or among
/// the scripts.
#[derive(Clone, Debug)]
enum Act {
    Spawn(usize),
    Wake(usize),
    Cancel(usize),
    Detach(usize),
    Tick,
}

/// A task: what it does in each poll; it is done with the last one.
type Script = Vec<Vec<Act>>;

#[derive(Clone, Debug)]
struct Program {
    /// A task of script `n` spawns those of later scripts only, so every program ends.
    scripts: Vec<Script>,
    acts: Vec<Act>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    Polled(usize),
    Dropped(usize),
    Ticked(bool),
}

use Event::*;

/// Most tasks that a program makes; spawns above it do nothing.
const MAX_TASKS: usize = 200;

fn spawned(script: usize, after: Option<usize>, scripts: usize) -> Option<usize> {
    let first = after.map_or(0, |script| script + 1);
    (first < scripts).then(|| first + script % (scripts - first))
}

/// The executor under test.
struct Real<K> {
    executor: RefCell<Weak<K>>,
    scripts: Vec<Script>,
    trace: RefCell<Vec<Event>>,
    tasks: RefCell<Vec<Known>>,
}

/// The handle and the waker of a task.
type Known = (Option<Task<()>>, Option<Waker>);

impl<K: LocalKind> Real<K> {
    fn act(self: &Rc<Self>, act: &Act, within: Option<usize>) {
        let known = self.tasks.borrow().len();
        match *act {
            Act::Spawn(script) => self.spawn(script, within),
            Act::Tick => {
                let executor = self.executor.borrow().upgrade();
                let ticked = executor.expect("it is there").tick();
                self.trace.borrow_mut().push(Ticked(ticked));
            }
            _ if known == 0 => {}
            Act::Wake(task) => {
                let waker = self.tasks.borrow()[task % known].1.clone();
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
            Act::Cancel(task) => {
                let task = self.tasks.borrow_mut()[task % known].0.take();
                drop(task);
            }
            Act::Detach(task) => {
                let task = self.tasks.borrow_mut()[task % known].0.take();
                if let Some(task) = task {
                    task.detach();
                }
            }
        }
    }

    fn spawn(self: &Rc<Self>, script: usize, within: Option<usize>) {
        let id = self.tasks.borrow().len();
        let Some(script) = spawned(script, within, self.scripts.len()) else {
            return;
        };
        if id == MAX_TASKS {
            return;
        }
        self.tasks.borrow_mut().push((None, None));
        let future = Scripted {
            world: Rc::clone(self),
            id,
            script,
            polls: 0,
        };
        let executor = self.executor.borrow().upgrade().expect("it is there");
        let task = executor.spawn_local(future);
        self.tasks.borrow_mut()[id].0 = Some(task);
    }
}

struct Scripted<K> {
    world: Rc<Real<K>>,
    id: usize,
    script: usize,
    polls: usize,
}

impl<K: LocalKind> Future for Scripted<K> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (world, id, script) = (Rc::clone(&self.world), self.id, self.script);
        world.trace.borrow_mut().push(Polled(id));
        let waker = context.waker().clone();
        let _old = world.tasks.borrow_mut()[id].1.replace(waker);
        let acts = world.scripts[script].get(self.polls).cloned();
        self.polls += 1;
        for act in acts.iter().flatten() {
            world.act(act, Some(script));
        }
        if self.polls >= world.scripts[script].len() {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<K> Drop for Scripted<K> {
    fn drop(&mut self) {
        self.world.trace.borrow_mut().push(Dropped(self.id));
    }
}

/// The executor's expected behaviour.
#[derive(Default)]
struct Model {
    scripts: Vec<Script>,
    trace: Vec<Event>,
    tasks: Vec<ModelTask>,
    queue: VecDeque<usize>,
}

#[derive(Default)]
struct ModelTask {
    script: usize,
    polls: usize,
    has_handle: bool,
    queued: bool,
    running: bool,
    woken_meanwhile: bool,
    cancelled: bool,
    ended: bool,
}

impl Model {
    fn act(&mut self, act: &Act, within: Option<usize>) {
        let known = self.tasks.len();
        match *act {
            Act::Spawn(script) => {
                let script = spawned(script, within, self.scripts.len());
                if let Some(script) = script.filter(|_| known < MAX_TASKS) {
                    self.tasks.push(ModelTask {
                        script,
                        has_handle: true,
                        ..Default::default()
                    });
                    self.enqueue(known);
                }
            }
            Act::Tick => {
                let ticked = self.tick();
                self.trace.push(Ticked(ticked));
            }
            _ if known == 0 => {}
            Act::Wake(task) => self.wake(task % known),
            Act::Cancel(task) => self.cancel(task % known),
            Act::Detach(task) => self.tasks[task % known].has_handle = false,
        }
    }

    fn enqueue(&mut self, id: usize) {
        self.tasks[id].queued = true;
        self.queue.push_back(id);
    }

    /// A task that was never polled has given out no waker.
    fn wake(&mut self, id: usize) {
        let task = &mut self.tasks[id];
        if task.polls == 0 || task.ended || task.cancelled || task.queued {
            return;
        }
        if task.running {
            task.woken_meanwhile = true;
        } else {
            self.enqueue(id);
        }
    }

    /// The future is dropped where the executor runs, so the task is queued for that.
    fn cancel(&mut self, id: usize) {
        let task = &mut self.tasks[id];
        if !std::mem::take(&mut task.has_handle) || task.ended {
            return;
        }
        task.cancelled = true;
        if !task.queued && !task.running {
            self.enqueue(id);
        }
    }

    fn tick(&mut self) -> bool {
        let Some(id) = self.queue.pop_front() else {
            return false;
        };
        self.tasks[id].queued = false;
        if self.tasks[id].cancelled {
            self.end(id);
            return true;
        }
        self.trace.push(Polled(id));
        let task = &mut self.tasks[id];
        let (script, poll) = (task.script, task.polls);
        task.polls += 1;
        task.running = true;
        task.woken_meanwhile = false;
        let acts = self.scripts[script].get(poll).cloned();
        for act in acts.iter().flatten() {
            self.act(act, Some(script));
        }
        let done = poll + 1 >= self.scripts[script].len();
        let task = &mut self.tasks[id];
        task.running = false;
        if done || task.cancelled {
            self.end(id);
        } else if task.woken_meanwhile {
            self.enqueue(id);
        }
        true
    }

    fn end(&mut self, id: usize) {
        self.tasks[id].ended = true;
        self.trace.push(Dropped(id));
    }
}

fn real<K: LocalKind>(program: &Program) -> (Vec<Event>, Vec<Event>) {
    let executor = Rc::new(K::make());
    let world = Rc::new(Real {
        executor: RefCell::new(Rc::downgrade(&executor)),
        scripts: program.scripts.clone(),
        trace: RefCell::default(),
        tasks: RefCell::default(),
    });
    for act in &program.acts {
        world.act(act, None);
    }
    let before = world.trace.take();
    drop(executor);
    let tasks = world.tasks.take();
    drop(tasks);
    let mut at_end = world.trace.take();
    at_end.sort_unstable();
    (before, at_end)
}

fn model(program: &Program) -> (Vec<Event>, Vec<Event>) {
    let mut model = Model {
        scripts: program.scripts.clone(),
        ..Default::default()
    };
    for act in &program.acts {
        model.act(act, None);
    }
    let left = model.tasks.iter().enumerate();
    let left = left.filter(|(_, task)| !task.ended);
    let at_end = left.map(|(id, _)| Dropped(id)).collect();
    (model.trace, at_end)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => any::<usize>().prop_map(Act::Spawn),
        4 => any::<usize>().prop_map(Act::Wake),
        2 => any::<usize>().prop_map(Act::Cancel),
        1 => any::<usize>().prop_map(Act::Detach),
        5 => Just(Act::Tick),
    ]
}

fn program() -> impl Strategy<Value = Program> {
    let script = prop::collection::vec(prop::collection::vec(act(), 0..5), 1..5);
    let scripts = prop::collection::vec(script, 1..5);
    let acts = prop::collection::vec(act(), 0..120);
    (scripts, acts).prop_map(|(scripts, acts)| Program { scripts, acts })
}

/// The same programs in every run, unless the environment names another seed; nothing is kept in files.
fn config() -> Config {
    const SEED: u64 = 0x7E44_ACE5;
    let seed = std::env::var("PROPTEST_RNG_SEED").ok();
    let seed = seed.map_or(SEED, |seed| seed.parse().expect("a number"));
    eprintln!("PROPTEST_RNG_SEED={seed}");
    Config {
        cases: 500,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn local_executor_does_as_its_model(program in program()) {
        prop_assert_eq!(real::<kinds::Local>(&program), model(&program));
    }

    #[test]
    fn local_executor_by_tick_does_as_its_model(program in program()) {
        prop_assert_eq!(real::<kinds::Ticked<kinds::Local>>(&program), model(&program));
    }

    #[test]
    fn pinned_tasks_do_as_their_model(program in program()) {
        prop_assert_eq!(real::<kinds::Thread>(&program), model(&program));
    }

    /// It is never dropped, so tasks that are left at the end stay.
    #[test]
    fn static_local_executor_does_as_its_model(program in program()) {
        prop_assert_eq!(real::<kinds::StaticLocal>(&program).0, model(&program).0);
    }
}

/// The comparison means something: the model's traces are long, and hold every kind of event.
#[test]
fn programs_do_something() {
    let _watchdog = Watchdog::within(std::time::Duration::from_secs(300));
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let (mut polls, mut cancelled, mut nested) = (0, 0, 0);
    for _ in 0..200 {
        let tree = program().new_tree(&mut runner).expect("a program");
        let program = tree.current();
        let (trace, at_end) = model(&program);
        polls += trace
            .iter()
            .filter(|event| matches!(event, Polled(_)))
            .count();
        let own = |act: &&Act| matches!(act, Act::Tick);
        let outside = program.acts.iter().filter(own).count();
        let ticks = trace
            .iter()
            .filter(|event| matches!(event, Ticked(_)))
            .count();
        nested += ticks - outside;
        cancelled += usize::from(!at_end.is_empty());
    }
    assert!(
        polls > 1_000 && nested > 100 && cancelled > 20,
        "{polls} {nested} {cancelled}"
    );
}
