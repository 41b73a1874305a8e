//! A random program as a tree.

use fastrand::Rng;

/// One call, and what its closures do.
pub(crate) enum Node {
    /// Says where it runs. Gives its number.
    Work(u64),
    /// One after the other.
    All(Vec<Node>),
    Join {
        pool: Pool,
        context: bool,
        halves: Box<[Node; 2]>,
    },
    Scope {
        pool: Pool,
        fifo: bool,
        /// The body runs on the calling thread, whatever thread that is.
        in_place: bool,
        body: Box<Node>,
        children: Vec<Child>,
    },
    Spawn {
        pool: Pool,
        fifo: bool,
        node: Box<Node>,
    },
    Broadcast(Pool, Box<Node>),
    SpawnBroadcast(Pool, Box<Node>),
    Yield {
        local: bool,
    },
    Install(usize, Box<Node>),
    Panic(u64),
    /// Says whether the inner one panics, and with which number.
    Catch(Box<Node>),
}

/// The pool that a call is told; `None` is that of the calling thread.
pub(crate) type Pool = Option<usize>;

/// A child of a scope.
pub(crate) struct Child {
    /// It runs on each thread.
    pub(crate) broadcast: bool,
    pub(crate) node: Node,
    /// Children that it spawns in the same scope, afterwards.
    pub(crate) more: Vec<Child>,
}

/// Which calls a program has.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// How many pools it may name.
    pub(crate) pools: usize,
    /// Its order is printed. So there is one thread, and nothing whose order the drop-in's README lists as another one.
    pub(crate) ordered: bool,
}

/// Makes plans.
pub(crate) struct Planner<'r> {
    rng: &'r mut Rng,
    style: Style,
    /// Nodes that may still be made.
    budget: u32,
    /// Numbers so far.
    numbers: u64,
    /// Around what is being planned.
    around: Around,
}

/// What is around a node.
#[derive(Clone, Copy, Default)]
struct Around {
    depth: u32,
    /// The first closure of a `join`, whose other one waits.
    first_half: bool,
    /// A scope, which waits for its children.
    scope: bool,
    /// A closure that runs on each thread.
    broadcast: bool,
}

impl<'r> Planner<'r> {
    pub(crate) fn new(rng: &'r mut Rng, style: Style) -> Self {
        let budget = rng.u32(10..80);
        Self {
            rng,
            style,
            budget,
            numbers: 0,
            around: Around::default(),
        }
    }

    /// A program.
    pub(crate) fn program(&mut self) -> &'static Node {
        let around = Around::default();
        let parts = self.rng.usize(1..5);
        let parts = (0..parts).map(|_| self.inside(around)).collect();
        Box::leak(Box::new(Node::All(parts)))
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn pool(&mut self) -> Pool {
        let named = !self.style.ordered && self.rng.u32(0..4) == 0;
        named.then(|| self.rng.usize(..self.style.pools))
    }

    /// A node that is planned with this around it.
    fn inside(&mut self, around: Around) -> Node {
        let outer = std::mem::replace(&mut self.around, around);
        self.around.depth += 1;
        let node = self.node();
        self.around = outer;
        node
    }

    fn boxed(&mut self) -> Box<Node> {
        Box::new(self.inside(self.around))
    }

    fn broadcast(&mut self) -> Box<Node> {
        let around = Around {
            broadcast: true,
            ..self.around
        };
        Box::new(self.inside(around))
    }

    fn node(&mut self) -> Node {
        let Around {
            depth,
            first_half,
            scope,
            broadcast,
        } = self.around;
        if self.budget == 0 || depth > 7 {
            return Node::Work(self.number());
        }
        self.budget -= 1;
        // First halves that spawn or yield, and children that yield: the drop-in runs other jobs first, see `known`.
        let free = !(self.style.ordered && first_half);
        match self.rng.u32(0..24) {
            0..3 => Node::Work(self.number()),
            3..6 => {
                let parts = self.rng.usize(1..4);
                Node::All((0..parts).map(|_| self.inside(self.around)).collect())
            }
            6..11 => self.join(),
            11..15 => self.scope(),
            15..18 if free && !broadcast => Node::Spawn {
                pool: self.pool(),
                fifo: self.rng.bool(),
                node: self.boxed(),
            },
            18 if !self.style.ordered && !broadcast => {
                Node::Broadcast(self.pool(), self.broadcast())
            }
            19 if !self.style.ordered && !broadcast => {
                Node::SpawnBroadcast(self.pool(), self.broadcast())
            }
            20 if free && !(self.style.ordered && scope) => Node::Yield {
                local: self.rng.bool(),
            },
            21 if !broadcast => {
                let pool = self.rng.usize(..self.style.pools);
                Node::Install(pool, self.boxed())
            }
            // Of several panics in a scope, the first one comes out.
            22 if self.style.ordered => Node::Panic(self.number()),
            22 => Node::Panic(0),
            23 => Node::Catch(self.boxed()),
            _ => Node::Work(self.number()),
        }
    }

    fn join(&mut self) -> Node {
        let around = Around {
            first_half: true,
            ..self.around
        };
        let first = self.inside(around);
        let second = self.inside(self.around);
        Node::Join {
            pool: self.pool(),
            context: self.rng.bool(),
            halves: Box::new([first, second]),
        }
    }

    fn scope(&mut self) -> Node {
        let outer = self.around.scope;
        self.around.scope = true;
        let children = self.rng.usize(0..4);
        let scope = Node::Scope {
            pool: self.pool(),
            fifo: self.rng.bool(),
            in_place: self.rng.bool(),
            body: self.boxed(),
            children: (0..children).map(|_| self.child()).collect(),
        };
        self.around.scope = outer;
        scope
    }

    fn child(&mut self) -> Child {
        let quiet = self.style.ordered || self.around.broadcast;
        if !quiet && self.rng.u32(0..6) == 0 {
            return Child {
                broadcast: true,
                node: *self.broadcast(),
                more: Vec::new(),
            };
        }
        self.budget = self.budget.saturating_sub(1);
        let more = if self.budget > 0 {
            self.rng.usize(0..3)
        } else {
            0
        };
        Child {
            broadcast: false,
            node: *self.boxed(),
            more: (0..more).map(|_| self.child()).collect(),
        }
    }
}
