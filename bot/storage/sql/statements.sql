-- Every statement of the store, once for SQLite and PostgreSQL: `$1` parameters, RETURNING, ON CONFLICT.
-- A statement begins with its name between dashes; the line below says what it is for.

-- insert_run --
-- A request that was seen before (same key) changes no row
INSERT INTO runs (run_id, thread_id, state, version, owner, requester, request_key, created_at, updated_at, v, head)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)
ON CONFLICT DO NOTHING
RETURNING run_id

-- run_by_request --
SELECT run_id FROM runs WHERE request_key = $1

-- run --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs WHERE run_id = $1

-- runs_like --
-- People type the beginning of an id
SELECT run_id FROM runs WHERE run_id LIKE $1 ORDER BY run_id LIMIT 3

-- list_runs --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs ORDER BY created_at DESC LIMIT $1

-- list_runs_in --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs WHERE state = $2 ORDER BY created_at DESC LIMIT $1

-- last_run_of_thread --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE thread_id = $1 ORDER BY created_at DESC, run_id DESC LIMIT 1

-- claim_run --
-- Of several claims exactly one finds the run ready
UPDATE runs SET state = 'running', owner = $2, version = version + 1, updated_at = $3
WHERE run_id = $1 AND state = 'ready'
RETURNING run_id, state, version, owner, updated_at, v, head, cancel,
  EXISTS (SELECT 1 FROM notes WHERE run_id = $1)

-- lock_run --
-- Taken first wherever a run and its interrupts change together, so that parking and settling cannot cross
UPDATE runs SET updated_at = updated_at WHERE run_id = $1
RETURNING run_id, state, version, owner, updated_at, v, head

-- save_run --
-- Writes only on top of the version this worker has seen, and first of all: whoever lost the run writes nothing
UPDATE runs SET state = $4, owner = CASE WHEN $4 = 'running' THEN owner ELSE NULL END,
  version = version + 1, updated_at = $5, v = $6, head = $7
WHERE run_id = $1 AND version = $2 AND owner = $3
RETURNING cancel, EXISTS (SELECT 1 FROM notes WHERE run_id = $1)

-- wake_run --
-- The last settled interrupt makes a waiting run claimable; so does parking after it was settled
UPDATE runs SET state = 'ready', version = version + 1, updated_at = $2
WHERE run_id = $1 AND state = 'waiting'
  AND NOT EXISTS (SELECT 1 FROM interrupts WHERE run_id = $1 AND status = 'open')
RETURNING run_id

-- cancel_run --
UPDATE runs SET cancel = $2, state = CASE WHEN state = 'waiting' THEN 'ready' ELSE state END,
  version = CASE WHEN state = 'waiting' THEN version + 1 ELSE version END, updated_at = $3
WHERE run_id = $1 AND state IN ('ready', 'running', 'waiting')
RETURNING state

-- forget_cancel --
UPDATE runs SET cancel = NULL WHERE run_id = $1

-- cancels_of --
SELECT run_id, cancel FROM runs WHERE owner = $1 AND state = 'running' AND cancel IS NOT NULL

-- quarantine_run --
UPDATE runs SET state = 'quarantined', owner = NULL, version = version + 1, updated_at = $2 WHERE run_id = $1

-- quarantine_row --
INSERT INTO quarantine (source, name, at, why) VALUES ($1, $2, $3, $4)

-- quarantine_of --
SELECT why FROM quarantine WHERE name = $1 ORDER BY at DESC LIMIT 1

-- list_quarantine --
SELECT source, name, at, why FROM quarantine ORDER BY at

-- insert_entry --
INSERT INTO entries (run_id, seq, at, v, body) VALUES ($1, $2, $3, $4, $5)

-- entries --
SELECT seq, at, v, body FROM entries WHERE run_id = $1 AND seq < $2 ORDER BY seq

-- insert_interrupt --
-- Derived ids make a repeat after a crash a no-op
INSERT INTO interrupts (interrupt_id, run_id, thread_id, status, opened_at, expires_at, v, body)
VALUES ($1, $2, $3, 'open', $4, $5, $6, $7)
ON CONFLICT (interrupt_id) DO NOTHING

-- interrupt --
SELECT interrupt_id, run_id, status, v, body, outcome, expires_at, escalated FROM interrupts WHERE interrupt_id = $1

-- settle_interrupt --
-- The only way an interrupt ends: of two answers, or an answer and the clock, one changes the row
UPDATE interrupts SET status = 'settled', settled_at = $2, outcome = $3
WHERE interrupt_id = $1 AND status = 'open'
RETURNING run_id

-- withdraw_open --
UPDATE interrupts SET status = 'settled', settled_at = $2, outcome = $3
WHERE run_id = $1 AND status = 'open'
RETURNING interrupt_id

-- open_interrupts --
SELECT interrupt_id, run_id, status, v, body, outcome, expires_at, escalated FROM interrupts
WHERE status = 'open' ORDER BY expires_at, interrupt_id LIMIT $1

-- open_interrupts_of_run --
SELECT interrupt_id, run_id, status, v, body, outcome, expires_at, escalated FROM interrupts
WHERE run_id = $1 AND status = 'open' ORDER BY opened_at, interrupt_id

-- interrupts_of_run --
SELECT interrupt_id, run_id, status, v, body, outcome, expires_at, escalated FROM interrupts
WHERE run_id = $1 ORDER BY opened_at, interrupt_id

-- insert_vote --
-- One vote a person
INSERT INTO votes (interrupt_id, voter, at, v, body) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (interrupt_id, voter) DO UPDATE SET at = excluded.at, v = excluded.v, body = excluded.body

-- votes --
SELECT v, body FROM votes WHERE interrupt_id = $1 ORDER BY at, voter

-- insert_note --
INSERT INTO notes (run_id, note_id, at, author, body)
SELECT $1, COALESCE(MAX(note_id), 0) + 1, CAST($2 AS BIGINT), $3, $4 FROM notes WHERE run_id = $1

-- notes --
SELECT note_id, at, author, body FROM notes WHERE run_id = $1 ORDER BY note_id

-- delete_note --
DELETE FROM notes WHERE run_id = $1 AND note_id = $2

-- last_audit --
SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1

-- insert_audit --
INSERT INTO audit (seq, at, kind, run_id, body, hash) VALUES ($1, $2, $3, $4, $5, $6)

-- audit_after --
SELECT seq, at, kind, run_id, body, hash FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2

-- audit_of_run --
SELECT seq, at, kind, run_id, body, hash FROM audit WHERE run_id = $1 ORDER BY seq

-- beat --
INSERT INTO workers (worker_id, seen_at) VALUES ($1, $2)
ON CONFLICT (worker_id) DO UPDATE SET seen_at = excluded.seen_at

-- forget_worker --
DELETE FROM workers WHERE worker_id = $1

-- owners --
-- Workers that own a run now, and when they were last seen
SELECT DISTINCT runs.owner, workers.seen_at FROM runs LEFT JOIN workers ON workers.worker_id = runs.owner
WHERE runs.state = 'running' AND runs.state IN ('ready', 'running')

-- release_runs_of --
UPDATE runs SET state = 'ready', owner = NULL, version = version + 1, updated_at = $2
WHERE owner = $1 AND state = 'running'

-- release_run --
UPDATE runs SET state = 'ready', owner = NULL, version = version + 1, updated_at = $3
WHERE run_id = $1 AND owner = $2 AND state = 'running'

-- ready_runs --
SELECT run_id FROM runs WHERE state = 'ready' AND state IN ('ready', 'running') ORDER BY created_at

-- state_counts --
SELECT state, COUNT(*) FROM runs GROUP BY state ORDER BY state

-- touch_post --
-- A message that is already there is to be shown again; a new one is to be posted
INSERT INTO outbox (key, front, thread_id, run_id, kind, subject, body, wanted, shown, due_at, attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 0, $8, 0)
ON CONFLICT (key) DO UPDATE SET wanted = outbox.wanted + 1, attempts = 0, due_at = excluded.due_at,
  body = COALESCE(excluded.body, outbox.body)

-- touch_known_post --
UPDATE outbox SET wanted = wanted + 1, attempts = 0, due_at = $2 WHERE key = $1

-- due_posts --
SELECT key, front, thread_id, run_id, kind, subject, body, wanted, ref, attempts FROM outbox
WHERE front = $1 AND shown < wanted AND due_at <= $2 ORDER BY due_at, key LIMIT $3

-- next_post_due --
SELECT MIN(due_at) FROM outbox WHERE front = $1 AND shown < wanted

-- post --
SELECT key, front, thread_id, run_id, kind, subject, body, wanted, ref, attempts FROM outbox WHERE key = $1

-- post_shown --
-- Only as far as it was rendered: a change in between leaves it due again
UPDATE outbox SET shown = CASE WHEN $2 > shown THEN $2 ELSE shown END, ref = COALESCE($3, ref), attempts = 0
WHERE key = $1

-- post_failed --
UPDATE outbox SET attempts = attempts + 1, due_at = $2 WHERE key = $1

-- post_lost --
-- The message was deleted by somebody: forget where it was and show it anew
UPDATE outbox SET ref = NULL, wanted = wanted + 1, due_at = $2 WHERE key = $1

-- insert_use --
INSERT INTO uses (key, at, run_id) VALUES ($1, $2, $3)

-- count_uses --
SELECT COUNT(*) FROM uses WHERE key = $1 AND at > $2

-- insert_grant --
INSERT INTO grants (grant_id, place, tool, granted_by, expires_at, max_uses, used, v, body)
VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)

-- grants_here --
SELECT used, revoked_at, v, body FROM grants
WHERE place IN ($1, $2) AND tool = $3 AND revoked_at IS NULL AND expires_at > $4 AND used < max_uses

-- list_grants --
SELECT used, revoked_at, v, body FROM grants
WHERE revoked_at IS NULL AND expires_at > $1 AND used < max_uses ORDER BY expires_at LIMIT $2

-- use_grant --
-- Of several calls that want the last use exactly one gets it
UPDATE grants SET used = used + 1
WHERE grant_id = $1 AND revoked_at IS NULL AND expires_at > $2 AND used < max_uses
RETURNING grant_id

-- revoke_grant --
UPDATE grants SET revoked_at = $2 WHERE grant_id = $1 AND revoked_at IS NULL RETURNING grant_id

-- arm_timer --
INSERT INTO timers (interrupt_id, kind, ordinal, due_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (interrupt_id, kind, ordinal) DO NOTHING

-- disarm_timers --
DELETE FROM timers WHERE interrupt_id = $1

-- next_timer --
SELECT MIN(due_at) FROM timers

-- due_timers --
-- In the order in which they should have fired. A timer without its interrupt is found, too, and thrown away
SELECT timers.interrupt_id, timers.kind, timers.ordinal, timers.due_at, timers.who, interrupts.run_id
FROM timers LEFT JOIN interrupts ON interrupts.interrupt_id = timers.interrupt_id
WHERE timers.due_at <= $1 ORDER BY timers.due_at, timers.interrupt_id, timers.kind, timers.ordinal LIMIT $2

-- due_timers_of --
SELECT timers.interrupt_id, timers.kind, timers.ordinal, timers.due_at, timers.who, interrupts.run_id
FROM timers LEFT JOIN interrupts ON interrupts.interrupt_id = timers.interrupt_id
WHERE timers.interrupt_id = $2 AND timers.due_at <= $1
ORDER BY timers.due_at, timers.kind, timers.ordinal

-- take_timer --
-- The claim: of several processes that found it due, one removes it, and fires it in the same transaction
DELETE FROM timers WHERE interrupt_id = $1 AND kind = $2 AND ordinal = $3 AND due_at = $4 RETURNING kind

-- put_timer --
INSERT INTO timers (interrupt_id, kind, ordinal, due_at, who) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (interrupt_id, kind, ordinal) DO UPDATE SET due_at = excluded.due_at, who = excluded.who

-- renew_interrupt --
UPDATE interrupts SET expires_at = $2 WHERE interrupt_id = $1 AND status = 'open' RETURNING interrupt_id

-- escalate_interrupt --
UPDATE interrupts SET escalated = $2 WHERE interrupt_id = $1 AND status = 'open' RETURNING interrupt_id

-- open_siblings --
SELECT interrupt_id FROM interrupts
WHERE run_id = $1 AND status = 'open' AND interrupt_id <> $2 ORDER BY opened_at, interrupt_id

-- expire_siblings --
-- Questions of a stopped run whose own time is over, too
UPDATE interrupts SET status = 'settled', settled_at = $2, outcome = $3
WHERE run_id = $1 AND status = 'open' AND expires_at <= $2
RETURNING interrupt_id

-- replace_outcome --
-- Asked again while the run still waits: what was expired is followed by another question
UPDATE interrupts SET outcome = $2 WHERE interrupt_id = $1 AND status = 'settled'

-- insert_base --
INSERT INTO bases (run_id, base_id) VALUES ($1, $2) ON CONFLICT (run_id) DO NOTHING

-- claim_mark --
-- Something that happens once in a while is done by the process that moves its mark forward
INSERT INTO marks (name, at) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET at = excluded.at WHERE marks.at < excluded.at
RETURNING name

-- waiting --
-- With the front that shows its card, if one does
SELECT interrupts.interrupt_id, interrupts.run_id, interrupts.status, interrupts.v, interrupts.body,
  interrupts.outcome, interrupts.expires_at, interrupts.escalated, outbox.front
FROM interrupts LEFT JOIN outbox ON outbox.key = 'card/' || interrupts.interrupt_id
WHERE interrupts.status = 'open' ORDER BY interrupts.expires_at, interrupts.interrupt_id LIMIT $1

-- count_open --
SELECT COUNT(*) FROM interrupts WHERE status = 'open'

-- removable_runs --
-- Finished long ago, and nobody's conversation goes on from them. Runs that were set aside stay for somebody to look at
SELECT run_id FROM runs
WHERE state IN ('done', 'failed', 'cancelled') AND updated_at < $1
  AND NOT EXISTS (SELECT 1 FROM bases WHERE bases.base_id = runs.run_id)
ORDER BY updated_at LIMIT $2

-- remove_run --
-- Checked again: somebody may have gone on from it meanwhile
DELETE FROM runs
WHERE run_id = $1 AND state IN ('done', 'failed', 'cancelled') AND updated_at < $2
  AND NOT EXISTS (SELECT 1 FROM bases WHERE bases.base_id = runs.run_id)
RETURNING run_id

-- remove_base --
DELETE FROM bases WHERE run_id = $1

-- insert_leftover --
INSERT INTO leftovers (run_id) VALUES ($1) ON CONFLICT (run_id) DO NOTHING

-- leftovers --
SELECT run_id FROM leftovers LIMIT 1

-- remove_leftover --
DELETE FROM leftovers WHERE run_id = $1

-- remove_entries --
DELETE FROM entries WHERE run_id = $1
  AND seq IN (SELECT seq FROM entries WHERE run_id = $1 ORDER BY seq LIMIT $2)
RETURNING seq

-- remove_votes --
DELETE FROM votes WHERE interrupt_id IN (SELECT interrupt_id FROM interrupts WHERE run_id = $1)

-- remove_interrupts --
DELETE FROM interrupts WHERE run_id = $1

-- remove_timers --
DELETE FROM timers WHERE interrupt_id IN (SELECT interrupt_id FROM interrupts WHERE run_id = $1)

-- remove_notes --
DELETE FROM notes WHERE run_id = $1

-- remove_posts --
DELETE FROM outbox WHERE run_id = $1

-- forget_uses --
-- Uses have no name of their own; the oldest are removed up to the time of the last of a batch
DELETE FROM uses WHERE at <= (SELECT MAX(at) FROM (SELECT at FROM uses WHERE at < $1 ORDER BY at LIMIT $2) AS oldest)
RETURNING key

-- forget_grants --
DELETE FROM grants WHERE grant_id IN
  (SELECT grant_id FROM grants WHERE expires_at < $1 LIMIT $2) RETURNING grant_id

-- forget_posts --
-- Messages that belong to no run: digests
DELETE FROM outbox WHERE key IN
  (SELECT key FROM outbox WHERE run_id = '' AND shown >= wanted AND due_at < $1 LIMIT $2) RETURNING key

-- all_entries --
SELECT seq, at, v, body FROM entries WHERE run_id = $1 ORDER BY seq

-- insert_inbox --
-- A delivery that was seen before changes no row
INSERT INTO inbox (id, kind, at, owner, body) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO NOTHING RETURNING id

-- inbox --
SELECT owner, done_at FROM inbox WHERE id = $1

-- inbox_owners --
SELECT DISTINCT i.owner, w.seen_at FROM inbox i LEFT JOIN workers w ON w.worker_id = i.owner WHERE i.done_at IS NULL

-- own_inbox --
UPDATE inbox SET owner = $2 WHERE owner = $1 AND done_at IS NULL RETURNING id, kind, body

-- own_inbox_row --
-- Of several processes that find a dead one's delivery exactly one gets it
UPDATE inbox SET owner = $3 WHERE id = $1 AND owner = $2 AND done_at IS NULL RETURNING id

-- inbox_done --
UPDATE inbox SET done_at = $2, body = '' WHERE id = $1

-- forget_inbox --
DELETE FROM inbox WHERE at < $1 AND done_at IS NOT NULL

-- take_posts --
UPDATE outbox SET lease_owner = $3, lease_until = $4, takes = takes + 1
WHERE key IN (SELECT key FROM outbox WHERE front = $1 AND shown < wanted AND due_at <= $2 AND lease_until <= $2
              ORDER BY due_at, key LIMIT $5)
  -- Said twice: PostgreSQL looks at this one again when it had to wait for another taker
  AND lease_until <= $2
RETURNING key, thread_id, run_id, kind, subject, body, wanted, ref, attempts, takes

-- next_free_post --
SELECT MIN(CASE WHEN lease_until > due_at THEN lease_until ELSE due_at END) FROM outbox
WHERE front = $1 AND shown < wanted

-- free_post --
UPDATE outbox SET lease_owner = NULL, lease_until = 0, takes = CASE WHEN $2 = 1 THEN 0 ELSE takes END WHERE key = $1

-- post_owners --
SELECT DISTINCT o.lease_owner, w.seen_at FROM outbox o LEFT JOIN workers w ON w.worker_id = o.lease_owner
WHERE o.lease_owner IS NOT NULL

-- free_posts_of --
UPDATE outbox SET lease_owner = NULL, lease_until = 0 WHERE lease_owner = $1

-- adopt_post --
-- A message that is there before its row: a stream that will become the answer
INSERT INTO outbox (key, front, thread_id, run_id, kind, subject, wanted, shown, due_at, attempts, ref)
VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, $7)
ON CONFLICT (key) DO UPDATE SET ref = excluded.ref

-- post_by_ref --
SELECT key, subject, kind FROM outbox WHERE ref = $1

-- runs_of_requester --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE requester = $1 ORDER BY created_at DESC LIMIT $2

-- recently_settled --
SELECT interrupt_id, run_id, status, v, body, outcome, expires_at, escalated FROM interrupts
WHERE status = 'settled' ORDER BY settled_at DESC LIMIT $1

-- refs_of --
SELECT subject, ref FROM outbox WHERE front = $1 AND kind = 'card' AND run_id = $2

-- run_and_open --
SELECT state, (SELECT COUNT(*) FROM interrupts WHERE run_id = $1 AND status = 'open') FROM runs WHERE run_id = $1

-- latest_entries --
SELECT seq, v, body FROM entries WHERE run_id = $1 ORDER BY seq DESC LIMIT $2

-- insert_token --
INSERT INTO api_tokens (name, hash, person, scopes, groups_, channel, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
RETURNING name

-- token_by_hash --
SELECT name, hash, person, scopes, groups_, channel, created_at, revoked_at FROM api_tokens
WHERE hash = $1 AND revoked_at IS NULL

-- tokens_of --
SELECT name, hash, person, scopes, groups_, channel, created_at, revoked_at FROM api_tokens
WHERE person = $1 AND revoked_at IS NULL

-- list_tokens --
SELECT name, hash, person, scopes, groups_, channel, created_at, revoked_at FROM api_tokens ORDER BY name

-- revoke_token --
UPDATE api_tokens SET revoked_at = $2 WHERE name = $1 AND revoked_at IS NULL RETURNING name

-- entries_from --
SELECT seq, at, v, body FROM entries WHERE run_id = $1 AND seq >= $2 AND seq < $3 ORDER BY seq

-- runs_of_thread --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE thread_id = $1 ORDER BY created_at, run_id LIMIT $2

-- list_runs_of --
SELECT run_id, state, version, owner, updated_at, v, head FROM runs
WHERE requester = $2 ORDER BY created_at DESC LIMIT $1

-- change_waiting_run --
-- Only while it waits, and only on top of the version that was looked at
UPDATE runs SET head = $3, version = version + 1, updated_at = $4
WHERE run_id = $1 AND version = $2 AND state = 'waiting'
RETURNING version

-- runs_touched_since --
-- Every step of a run leaves a record, so the audit log is also the feed of what changed
SELECT seq, run_id FROM audit WHERE seq > $1 ORDER BY seq LIMIT $2

-- open_bodies --
SELECT v, body, interrupt_id FROM interrupts WHERE status = 'open' LIMIT $1

-- oldest_post --
SELECT front, COUNT(*), MIN(due_at) FROM outbox WHERE shown < wanted GROUP BY front

-- oldest_ready --
SELECT COUNT(*), MIN(updated_at) FROM runs WHERE state = 'ready' AND state IN ('ready', 'running')

-- overdue_timers --
SELECT COUNT(*), MIN(due_at) FROM timers WHERE due_at <= $1
