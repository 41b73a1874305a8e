//! Fork-join and hybrid scopes on the workers of terrace-executor
