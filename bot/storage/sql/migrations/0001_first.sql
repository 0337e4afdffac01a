-- Times are microseconds since 1970 in UTC. Bodies are JSON text; `v` is the version of their format (codec.py).

CREATE TABLE runs (
  run_id      TEXT PRIMARY KEY,
  thread_id   TEXT NOT NULL,
  state       TEXT NOT NULL,
  version     BIGINT NOT NULL,
  owner       TEXT,
  requester   TEXT NOT NULL,
  request_key TEXT,
  cancel      TEXT,
  created_at  BIGINT NOT NULL,
  updated_at  BIGINT NOT NULL,
  v           INTEGER NOT NULL,
  head        TEXT NOT NULL
);
CREATE UNIQUE INDEX runs_by_request ON runs (request_key) WHERE request_key IS NOT NULL;
CREATE INDEX runs_by_thread ON runs (thread_id, created_at);
-- Start-up and the sweep look only at these, however many runs wait.
CREATE INDEX runs_active ON runs (owner) WHERE state IN ('ready', 'running');

CREATE TABLE entries (
  run_id TEXT NOT NULL,
  seq    BIGINT NOT NULL,
  at     BIGINT NOT NULL,
  v      INTEGER NOT NULL,
  body   TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
);

CREATE TABLE interrupts (
  interrupt_id TEXT PRIMARY KEY,
  run_id       TEXT NOT NULL,
  thread_id    TEXT NOT NULL,
  status       TEXT NOT NULL,
  opened_at    BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL,
  settled_at   BIGINT,
  v            INTEGER NOT NULL,
  body         TEXT NOT NULL,
  outcome      TEXT
);
CREATE INDEX interrupts_open_by_run ON interrupts (run_id) WHERE status = 'open';
CREATE INDEX interrupts_open_by_expiry ON interrupts (expires_at) WHERE status = 'open';

CREATE TABLE votes (
  interrupt_id TEXT NOT NULL,
  voter        TEXT NOT NULL,
  at           BIGINT NOT NULL,
  v            INTEGER NOT NULL,
  body         TEXT NOT NULL,
  PRIMARY KEY (interrupt_id, voter)
);

CREATE TABLE notes (
  run_id  TEXT NOT NULL,
  note_id BIGINT NOT NULL,
  at      BIGINT NOT NULL,
  author  TEXT NOT NULL,
  body    TEXT NOT NULL,
  PRIMARY KEY (run_id, note_id)
);

CREATE TABLE audit (
  -- INTEGER, because SQLite then needs no index for it; PostgreSQL gets a BIGINT (postgres.py)
  seq    INTEGER PRIMARY KEY,
  at     BIGINT NOT NULL,
  kind   TEXT NOT NULL,
  run_id TEXT,
  body   TEXT NOT NULL,
  hash   TEXT NOT NULL
);
CREATE INDEX audit_by_run ON audit (run_id);

CREATE TABLE workers (
  worker_id TEXT PRIMARY KEY,
  seen_at   BIGINT NOT NULL
);

CREATE TABLE quarantine (
  source TEXT NOT NULL,
  name   TEXT NOT NULL,
  at     BIGINT NOT NULL,
  why    TEXT NOT NULL
);
