//! `--pipelined`: a second world that is drawn while the first one computes the next frame, as in Bevy's pipelined rendering, and how
//! long schedules take.
//!
//! A thread of its own runs the second world's schedule, which is a scope on the compute pool beside the main world's. Before each
//! frame the main thread waits for it in a scope that also runs what that schedule has for the main thread.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender, bounded};
use bevy_app::{App, First, Last, MainScheduleOrder};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{MainThreadExecutor, ScheduleLabel, SingleThreadedExecutor};
use bevy_ecs::system::NonSendMarker;
use bevy_tasks::ComputeTaskPool;

use crate::particles::{Heat, Position, SIZE};

/// What is timed, in this order.
pub(crate) const TIMED: [&str; 4] = ["First", "Main", "Last", "Render"];
/// Particles as they come are less hot than this.
const HOTTEST: f32 = 90.0;
/// Of a picture, along a side.
const CELLS: usize = 64;
/// How far the eye is from the box.
const DISTANCE: f32 = 2.0 * SIZE;

/// A moment of a frame.
#[derive(ScheduleLabel, Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Moment {
    Begin,
    AfterFirst,
    BeforeLast,
    End,
}

/// The moments of the frame that is computed, and how long those before it took: of First, of all of Main, and of Last.
#[derive(Resource)]
struct Stamps {
    moments: [Instant; 4],
    times: [Vec<Duration>; 3],
}

impl Stamps {
    fn stamp(&mut self, moment: Moment) {
        self.moments[moment as usize] = Instant::now();
        if moment == Moment::End {
            let [begin, first, last, end] = self.moments;
            let spans = [first - begin, end - begin, end - last];
            for (times, span) in self.times.iter_mut().zip(spans) {
                times.push(span);
            }
        }
    }
}

/// Numbers that small systems count up.
#[derive(Resource, Default)]
struct Counted<const N: usize>(u64);

fn count<const N: usize>(mut counted: ResMut<Counted<N>>) {
    counted.0 += 1;
}

fn fade(mut query: Query<&mut Heat>) {
    query.par_iter_mut().for_each(|mut heat| heat.0 *= 0.999);
}

fn limit(mut query: Query<&mut Heat>) {
    query
        .par_iter_mut()
        .for_each(|mut heat| heat.0 = heat.0.min(HOTTEST));
}

/// The second world's schedule.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct Render;

/// What the main world has to show.
#[derive(Resource, Default)]
struct Extracted(Vec<[f32; 2]>);

/// One of the main world's particles, as it is seen.
#[derive(Component)]
struct Sprite {
    number: usize,
    at: [f32; 2],
    seen: bool,
}

/// How many sprites each part of the picture has, and a sum over all pictures.
#[derive(Resource)]
struct Picture {
    cells: Vec<u64>,
    sum: u64,
}

/// How long the pictures took, and how many the main thread has shown.
#[derive(Resource, Default)]
struct Drawn {
    times: Vec<Duration>,
    shown: u64,
}

fn project(mut query: Query<&mut Sprite>, extracted: Res<Extracted>) {
    query.par_iter_mut().for_each(|mut sprite| {
        let [x, y] = extracted.0[sprite.number];
        let far = DISTANCE / (DISTANCE + y);
        sprite.at = [(x - SIZE / 2.0) * far + SIZE / 2.0, y * far];
    });
}

fn cull(mut query: Query<&mut Sprite>) {
    query.par_iter_mut().for_each(|mut sprite| {
        let [x, y] = sprite.at;
        sprite.seen = (0.0..SIZE).contains(&x) && (0.0..SIZE).contains(&y);
    });
}

fn draw(query: Query<&Sprite>, mut picture: ResMut<Picture>) {
    let cells: Vec<AtomicU64> = (0..CELLS * CELLS).map(|_| AtomicU64::new(0)).collect();
    query.par_iter().for_each(|sprite| {
        if sprite.seen {
            let [x, y] = sprite.at.map(|at| (at / SIZE * CELLS as f32) as usize);
            // Ordering: Relaxed, the end of the parallel query orders it before the reads below.
            cells[(y * CELLS + x).min(CELLS * CELLS - 1)].fetch_add(1, Ordering::Relaxed);
        }
    });
    picture.cells = cells.into_iter().map(AtomicU64::into_inner).collect();
}

/// A picture's own number: the parts do not commute.
fn sum(mut picture: ResMut<Picture>) {
    let mut sum = picture.sum;
    for cell in &picture.cells {
        sum = sum.rotate_left(5).wrapping_add(*cell);
    }
    picture.sum = sum;
}

/// Stands in for a surface that only the main thread may show.
fn present(_: NonSendMarker, mut drawn: ResMut<Drawn>) {
    drawn.shown += 1;
}

/// The second world and its thread.
pub(crate) struct Pipeline {
    executor: MainThreadExecutor,
    to_render: Sender<Box<World>>,
    rendered: Receiver<Box<World>>,
    thread: JoinHandle<()>,
}

/// What it has seen.
pub(crate) struct Seen {
    /// Of each of [`TIMED`].
    pub(crate) times: [Vec<Duration>; 4],
    /// The same for the same pictures.
    pub(crate) sum: u64,
    /// Pictures that the main thread has shown.
    pub(crate) shown: u64,
}

impl Pipeline {
    /// Adds systems to First and Last, has the schedules timed, and starts the thread.
    pub(crate) fn new(app: &mut App, entities: usize) -> Self {
        app.init_resource::<Counted<0>>()
            .init_resource::<Counted<1>>()
            .init_resource::<Counted<2>>()
            .init_resource::<Counted<3>>()
            .add_systems(
                First,
                (count::<0>, count::<1>, count::<2>, count::<3>, fade),
            )
            .add_systems(Last, limit);
        let mut order = app.world_mut().resource_mut::<MainScheduleOrder>();
        order.insert_before(First, Moment::Begin);
        order.insert_after(First, Moment::AfterFirst);
        order.insert_before(Last, Moment::BeforeLast);
        order.insert_after(Last, Moment::End);
        for moment in [
            Moment::Begin,
            Moment::AfterFirst,
            Moment::BeforeLast,
            Moment::End,
        ] {
            let mut schedule = Schedule::new(moment);
            schedule.set_executor(SingleThreadedExecutor::new());
            schedule.add_systems(move |mut stamps: ResMut<Stamps>| stamps.stamp(moment));
            app.add_schedule(schedule);
        }
        app.insert_resource(Stamps {
            moments: [Instant::now(); 4],
            times: [const { Vec::new() }; 3],
        });
        let executor = MainThreadExecutor::new();
        app.insert_resource(executor.clone());

        let world = Box::new(render_world(&executor, entities));
        let (to_render, to_draw) = bounded::<Box<World>>(1);
        let (drawn, rendered) = bounded(1);
        drawn.try_send(world).expect("there is room for one");
        let thread = thread::Builder::new().name("render".to_owned());
        let thread = thread.spawn(move || {
            while let Ok(mut world) = to_draw.recv_blocking() {
                let start = Instant::now();
                world.run_schedule(Render);
                let time = start.elapsed();
                world.resource_mut::<Drawn>().times.push(time);
                drawn.send_blocking(world).expect("the main thread waits");
            }
        });
        Self {
            executor,
            to_render,
            rendered,
            thread: thread.expect("the thread starts"),
        }
    }

    /// Waits until the second world has been drawn.
    fn wait(&self) -> Box<World> {
        let mut worlds =
            ComputeTaskPool::get().scope_with_executor(true, Some(&self.executor.0), |scope| {
                scope.spawn(self.rendered.recv());
            });
        let world = worlds.pop().expect("one task, one output");
        world.expect("the render thread lives")
    }

    /// Hands what the last frame has computed to the second world, and computes the next frame beside it.
    pub(crate) fn update(&self, app: &mut App) {
        let mut render = self.wait();
        let main = app.world_mut();
        let mut positions = mem::take(&mut render.resource_mut::<Extracted>().0);
        positions.clear();
        let mut query = main.query::<&Position>();
        positions.extend(query.iter(main).map(|position| position.0));
        render.resource_mut::<Extracted>().0 = positions;
        self.to_render
            .send_blocking(render)
            .expect("the render thread lives");
        app.update();
    }

    /// Waits for the last picture, and for the thread's end. The times are those of the last `frames`.
    pub(crate) fn end(self, app: &mut App, frames: usize) -> Seen {
        let mut world = self.wait();
        drop(self.to_render);
        self.thread
            .join()
            .expect("the render thread does not panic");
        let times = mem::take(&mut app.world_mut().resource_mut::<Stamps>().times);
        let mut drawn = world.resource_mut::<Drawn>();
        let (rendered, shown) = (mem::take(&mut drawn.times), drawn.shown);
        let [first, main, last] = times;
        let times = [first, main, last, rendered];
        Seen {
            times: times.map(|mut times| times.split_off(times.len() - frames)),
            sum: world.resource::<Picture>().sum,
            shown,
        }
    }
}

/// A sprite for each particle, and the schedule that draws them.
fn render_world(executor: &MainThreadExecutor, entities: usize) -> World {
    let mut world = World::new();
    world.insert_resource(executor.clone());
    world.insert_resource(Extracted(vec![[0.0; 2]; entities]));
    world.init_resource::<Drawn>();
    world.insert_resource(Picture {
        cells: Vec::new(),
        sum: 0,
    });
    world.spawn_batch((0..entities).map(|number| Sprite {
        number,
        at: [0.0; 2],
        seen: false,
    }));
    let mut schedule = Schedule::new(Render);
    schedule.add_systems(((project, cull, draw, sum).chain(), present));
    world.add_schedule(schedule);
    world
}
