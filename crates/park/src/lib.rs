//! Every decision about sleeping and waking Terrace workers
