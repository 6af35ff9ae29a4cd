-- Runs that wait for a machine of the team, and what comes back from there. Nobody writes these tables but by the functions
-- below, which know who is connected. All times are the server's.

CREATE TABLE self_generation.pool_workers (
  id uuid PRIMARY KEY,
  -- Another one with each start: what an earlier process of this worker says no longer counts.
  instance uuid NOT NULL,
  team integer NOT NULL REFERENCES self_generation.teams (id),
  pool text NOT NULL CHECK (pool ~ '^[a-z0-9][a-z0-9_-]{0,40}$'),
  login name NOT NULL,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  slots integer NOT NULL CHECK (slots BETWEEN 1 AND 256),
  lost_after interval NOT NULL CHECK (lost_after BETWEEN interval '1 second' AND interval '1 day'),
  started_at timestamptz NOT NULL DEFAULT now(),
  heartbeat_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz
);

-- `origin`, `turn`: the run and turn of who asks, on their machine. `line`: the run that began the session; `wanted`: the
-- worker that has it. `bytes`: how much came back.
CREATE TABLE self_generation.pool_runs (
  id uuid PRIMARY KEY,
  team integer NOT NULL REFERENCES self_generation.teams (id),
  pool text NOT NULL CHECK (pool ~ '^[a-z0-9][a-z0-9_-]{0,40}$'),
  login name NOT NULL,
  origin text NOT NULL CHECK (origin ~ '^[0-9a-f]{32}$'),
  turn integer NOT NULL,
  line uuid NOT NULL,
  wanted uuid,
  state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'running', 'ended', 'stopped', 'lost')),
  worker uuid,
  instance uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  taken_at timestamptz,
  ended_at timestamptz,
  stop_at timestamptz,
  outcome text,
  error text,
  exit_code integer,
  exit_signal text,
  bytes bigint NOT NULL DEFAULT 0,
  patch_bytes bigint
);
CREATE INDEX pool_runs_active ON self_generation.pool_runs (team, pool, state) WHERE state IN ('queued', 'running');
CREATE INDEX pool_runs_worker ON self_generation.pool_runs (worker) WHERE state = 'running';
CREATE INDEX pool_runs_wanted ON self_generation.pool_runs (wanted) WHERE state = 'queued';
CREATE INDEX pool_runs_origin ON self_generation.pool_runs (origin, created_at);
CREATE INDEX pool_runs_ended ON self_generation.pool_runs (ended_at) WHERE ended_at IS NOT NULL;

-- What is to be done. Gone when it has ended.
CREATE TABLE self_generation.pool_specs (
  run uuid PRIMARY KEY REFERENCES self_generation.pool_runs (id) ON DELETE CASCADE,
  spec jsonb NOT NULL CHECK (octet_length(spec::text) <= 4194304)
);

-- What comes back. Gone when who asked has it.
CREATE TABLE self_generation.pool_output (
  run uuid NOT NULL REFERENCES self_generation.pool_runs (id) ON DELETE CASCADE,
  stream text NOT NULL CHECK (stream IN ('out', 'err', 'patch')),
  at bigint NOT NULL,
  bytes bytea NOT NULL CHECK (octet_length(bytes) BETWEEN 1 AND 1048576),
  PRIMARY KEY (run, stream, at)
);

CREATE FUNCTION self_generation.pool_tell(what text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog AS $$ SELECT pg_notify('self_generation_pool', what) $$;

-- The team of that name, for a member.
CREATE FUNCTION self_generation.pool_team(team_name text) RETURNS integer
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE found integer;
BEGIN
  SELECT id INTO found FROM self_generation.teams WHERE name = team_name AND self_generation.role_in(id) IS NOT NULL;
  IF found IS NULL THEN
    RAISE EXCEPTION '% is no member of a team "%"', session_user, team_name USING ERRCODE = '42501';
  END IF;
  RETURN found;
END $$;

-- The queue of a pool, made when it is first named.
CREATE FUNCTION self_generation.pool_queue(team_name text, pool_name text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE queue_name text := 'team-' || self_generation.pool_team(team_name) || '.' || pool_name;
BEGIN
  IF pool_name !~ '^[a-z0-9][a-z0-9_-]{0,40}$' THEN
    RAISE EXCEPTION '"%" is no name of a pool', pool_name USING ERRCODE = '22023';
  END IF;
  IF NOT EXISTS (SELECT FROM self_generation_queue.queue WHERE name = queue_name) THEN
    PERFORM self_generation_queue.create_queue(queue_name, '{"policy": "standard", "retryLimit": 0}'::jsonb);
  END IF;
  RETURN queue_name;
END $$;

CREATE FUNCTION self_generation.pool_lose(runs uuid[], why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  UPDATE self_generation.pool_runs SET state = 'lost', ended_at = now(), error = why
  WHERE id = ANY (runs) AND state IN ('queued', 'running');
  DELETE FROM self_generation.pool_specs WHERE run = ANY (runs);
  PERFORM self_generation.pool_tell('run ' || one) FROM unnest(runs) AS one;
END $$;

-- Whoever looks declares lost what a worker has that gave no sign for long. A server that was started just now waits for signs
-- first. And what was kept long enough goes.
CREATE FUNCTION self_generation.pool_reap() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE dead record;
BEGIN
  -- One who looks is enough.
  IF NOT pg_try_advisory_xact_lock(hashtext('self_generation.pool_reap')) THEN RETURN; END IF;
  FOR dead IN
    UPDATE self_generation.pool_workers SET ended_at = now()
    WHERE id IN (
      SELECT id FROM self_generation.pool_workers
      WHERE ended_at IS NULL AND greatest(heartbeat_at, pg_postmaster_start_time()) < now() - lost_after
      FOR UPDATE SKIP LOCKED
    ) RETURNING id, name, lost_after
  LOOP
    PERFORM self_generation.pool_lose(
      ARRAY(SELECT id FROM self_generation.pool_runs
            WHERE (worker = dead.id AND state = 'running') OR (wanted = dead.id AND state = 'queued')),
      format('the machine "%s" gave no sign for %s seconds', dead.name, extract(epoch FROM dead.lost_after)::integer));
  END LOOP;
  DELETE FROM self_generation.pool_output WHERE run IN (
    SELECT id FROM self_generation.pool_runs WHERE ended_at < now() - interval '7 days' LIMIT 100);
  DELETE FROM self_generation.pool_runs WHERE id IN (
    SELECT id FROM self_generation.pool_runs WHERE ended_at < now() - interval '30 days' LIMIT 100);
  PERFORM self_generation.pool_lose(
    ARRAY(SELECT id FROM self_generation.pool_runs
          WHERE state = 'queued' AND created_at < now() - interval '14 days' LIMIT 100),
    'no machine took it within 14 days');
  DELETE FROM self_generation.pool_workers WHERE ended_at < now() - interval '30 days';
END $$;

-- A worker begins: what an earlier process of it had is lost.
CREATE FUNCTION self_generation.pool_begin(
  worker_id uuid, instance_id uuid, team_name text, pool_name text, worker_name text, slots_there integer, lost_after_ms bigint)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE queue_name text := self_generation.pool_queue(team_name, pool_name);
BEGIN
  INSERT INTO self_generation.pool_workers AS known (id, instance, team, pool, login, name, slots, lost_after)
  VALUES (worker_id, instance_id, self_generation.pool_team(team_name), pool_name, session_user, worker_name, slots_there,
    lost_after_ms * interval '1 millisecond')
  ON CONFLICT (id) DO UPDATE SET instance = excluded.instance, name = excluded.name, slots = excluded.slots,
    lost_after = excluded.lost_after, started_at = now(), heartbeat_at = now(), ended_at = NULL
  WHERE known.login = excluded.login AND known.team = excluded.team AND known.pool = excluded.pool;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'this worker belongs to somebody else' USING ERRCODE = '42501';
  END IF;
  PERFORM self_generation.pool_lose(
    ARRAY(SELECT id FROM self_generation.pool_runs
          WHERE worker = worker_id AND state = 'running' AND instance IS DISTINCT FROM instance_id),
    format('the worker on the machine "%s" ended, and was started anew', worker_name));
  RETURN queue_name;
END $$;

-- Whether the caller is this worker, and counts still.
CREATE FUNCTION self_generation.pool_is_worker(worker_id uuid, instance_id uuid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT EXISTS (
    SELECT FROM self_generation.pool_workers
    WHERE id = worker_id AND instance = instance_id AND login = session_user AND ended_at IS NULL
      AND self_generation.role_in(team) IS NOT NULL
  )
$$;

-- A sign of life. NULL: it counts no more. Otherwise what it has: runs that are its own, those of them that are to be stopped,
-- and messages that wait for it.
CREATE FUNCTION self_generation.pool_beat(worker_id uuid, instance_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF NOT self_generation.pool_is_worker(worker_id, instance_id) THEN RETURN NULL; END IF;
  UPDATE self_generation.pool_workers SET heartbeat_at = now()
  WHERE id = worker_id AND instance = instance_id AND ended_at IS NULL;
  IF NOT FOUND THEN RETURN NULL; END IF;
  RETURN (
    SELECT jsonb_build_object(
      'running', COALESCE(jsonb_agg(id) FILTER (WHERE state = 'running'), '[]'),
      'stopping', COALESCE(jsonb_agg(id) FILTER (WHERE state = 'running' AND stop_at IS NOT NULL), '[]'),
      'wanted', COALESCE(jsonb_agg(id ORDER BY created_at) FILTER (WHERE state = 'queued'), '[]'))
    FROM self_generation.pool_runs
    WHERE (worker = worker_id AND instance = instance_id AND state = 'running') OR (wanted = worker_id AND state = 'queued'));
END $$;

-- Takes a run, if nobody has; what is to be done, or NULL. Asking again for what one has gives it again.
CREATE FUNCTION self_generation.pool_claim(worker_id uuid, instance_id uuid, run_id uuid) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF NOT self_generation.pool_is_worker(worker_id, instance_id) THEN RETURN NULL; END IF;
  UPDATE self_generation.pool_runs AS run SET state = 'running', worker = worker_id, instance = instance_id, taken_at = now()
  FROM self_generation.pool_workers AS worker
  WHERE worker.id = worker_id AND run.id = run_id AND run.state = 'queued' AND run.team = worker.team
    AND run.pool = worker.pool AND (run.wanted IS NULL OR run.wanted = worker.id);
  RETURN (
    SELECT jsonb_build_object('id', run.id, 'line', run.line, 'login', run.login, 'spec', spec.spec)
    FROM self_generation.pool_runs AS run JOIN self_generation.pool_specs AS spec ON spec.run = run.id
    WHERE run.id = run_id AND run.state = 'running' AND run.worker = worker_id AND run.instance = instance_id);
END $$;

-- Stores a piece of what comes back. 'ok'; 'full': it is too much; 'lost': the run is not this worker's any more.
CREATE FUNCTION self_generation.pool_put(
  worker_id uuid, instance_id uuid, run_id uuid, of_stream text, begins_at bigint, piece bytea) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE so_far bigint;
BEGIN
  IF NOT self_generation.pool_is_worker(worker_id, instance_id) THEN RETURN 'lost'; END IF;
  SELECT bytes INTO so_far FROM self_generation.pool_runs
  WHERE id = run_id AND state = 'running' AND worker = worker_id AND instance = instance_id FOR UPDATE;
  IF so_far IS NULL THEN RETURN 'lost'; END IF;
  IF so_far + octet_length(piece) > 268435456 THEN RETURN 'full'; END IF;
  INSERT INTO self_generation.pool_output (run, stream, at, bytes) VALUES (run_id, of_stream, begins_at, piece)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    UPDATE self_generation.pool_runs SET bytes = bytes + octet_length(piece) WHERE id = run_id;
    PERFORM self_generation.pool_tell('run ' || run_id);
  END IF;
  RETURN 'ok';
END $$;

-- Ends a run, once; the state that it has then.
CREATE FUNCTION self_generation.pool_end(
  worker_id uuid, instance_id uuid, run_id uuid, how text, why text, code integer, signal text, size_of_patch bigint)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF self_generation.pool_is_worker(worker_id, instance_id) THEN
    UPDATE self_generation.pool_runs SET state = 'ended', ended_at = now(), outcome = how, error = why, exit_code = code,
      exit_signal = signal, patch_bytes = size_of_patch
    WHERE id = run_id AND state = 'running' AND worker = worker_id AND instance = instance_id;
    IF FOUND THEN
      DELETE FROM self_generation.pool_specs WHERE run = run_id;
      PERFORM self_generation.pool_tell('run ' || run_id);
    END IF;
  END IF;
  RETURN (SELECT state FROM self_generation.pool_runs WHERE id = run_id AND worker = worker_id AND instance = instance_id);
END $$;

-- A worker goes: what it has still is lost.
CREATE FUNCTION self_generation.pool_leave(worker_id uuid, instance_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF NOT self_generation.pool_is_worker(worker_id, instance_id) THEN RETURN; END IF;
  UPDATE self_generation.pool_workers SET ended_at = now() WHERE id = worker_id;
  PERFORM self_generation.pool_lose(
    ARRAY(SELECT id FROM self_generation.pool_runs
          WHERE (worker = worker_id AND state = 'running') OR (wanted = worker_id AND state = 'queued')),
    'the worker was ended');
END $$;

-- Asks for a turn, once by its id, with its place in the queue. A later turn of a run is for the worker that has the session.
CREATE FUNCTION self_generation.pool_ask(
  run_id uuid, team_name text, pool_name text, origin_run text, turn_number integer, goes_on boolean, what jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  queue_name text := self_generation.pool_queue(team_name, pool_name);
  team_id integer := self_generation.pool_team(team_name);
  of_line uuid := run_id;
  of_worker uuid;
  machine text;
  gone timestamptz;
BEGIN
  IF EXISTS (SELECT FROM self_generation.pool_runs WHERE id = run_id) THEN
    IF NOT EXISTS (SELECT FROM self_generation.pool_runs WHERE id = run_id AND login = session_user) THEN
      RAISE EXCEPTION 'this run belongs to somebody else' USING ERRCODE = '42501';
    END IF;
    RETURN;
  END IF;
  IF goes_on THEN
    SELECT run.line, run.worker, worker.name, worker.ended_at INTO of_line, of_worker, machine, gone
    FROM self_generation.pool_runs AS run LEFT JOIN self_generation.pool_workers AS worker ON worker.id = run.worker
    WHERE run.origin = origin_run AND run.login = session_user AND run.team = team_id AND run.pool = pool_name
      AND run.worker IS NOT NULL
    ORDER BY run.created_at DESC LIMIT 1;
    IF machine IS NULL THEN
      RAISE EXCEPTION 'no machine has its session any more' USING ERRCODE = 'SG001';
    END IF;
    IF gone IS NOT NULL THEN
      RAISE EXCEPTION 'the machine "%" has its session, and no worker runs there', machine USING ERRCODE = 'SG001';
    END IF;
  END IF;
  INSERT INTO self_generation.pool_runs (id, team, pool, login, origin, turn, line, wanted)
  VALUES (run_id, team_id, pool_name, session_user, origin_run, turn_number, of_line, of_worker);
  INSERT INTO self_generation.pool_specs (run, spec) VALUES (run_id, what);
  IF goes_on THEN
    PERFORM self_generation.pool_tell('worker ' || of_worker);
    RETURN;
  END IF;
  -- As pg-boss documents it for who is no Node program: its other columns have defaults.
  INSERT INTO self_generation_queue.job_common (name, data, retry_limit, policy)
  VALUES (queue_name, jsonb_build_object('run', run_id), 0, 'standard');
  PERFORM self_generation.pool_tell('queue ' || queue_name);
END $$;

-- What has come back since, and how it stands. What came before these places has arrived, and goes.
CREATE FUNCTION self_generation.pool_read(run_id uuid, out_at bigint, err_at bigint, patch_at bigint) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM self_generation.pool_runs WHERE id = run_id AND login = session_user) THEN RETURN NULL; END IF;
  DELETE FROM self_generation.pool_output
  WHERE run = run_id
    AND at + octet_length(bytes) <= CASE stream WHEN 'out' THEN out_at WHEN 'err' THEN err_at ELSE patch_at END;
  RETURN (
    SELECT jsonb_build_object('state', run.state, 'machine', worker.name, 'outcome', run.outcome, 'error', run.error,
      'code', run.exit_code, 'signal', run.exit_signal, 'patchBytes', run.patch_bytes,
      'pieces', COALESCE((
        SELECT jsonb_agg(jsonb_build_object('stream', piece.stream, 'at', piece.at, 'data', encode(piece.bytes, 'base64')))
        FROM (SELECT * FROM self_generation.pool_output WHERE run = run_id ORDER BY stream, at LIMIT 16) AS piece), '[]'))
    FROM self_generation.pool_runs AS run LEFT JOIN self_generation.pool_workers AS worker ON worker.id = run.worker
    WHERE run.id = run_id);
END $$;

-- Stops a run of one's own: one that waits at once, one that runs as soon as its worker hears of it.
CREATE FUNCTION self_generation.pool_stop(run_id uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE stopped record;
BEGIN
  UPDATE self_generation.pool_runs SET stop_at = COALESCE(stop_at, now()),
    ended_at = CASE state WHEN 'queued' THEN now() END,
    state = CASE state WHEN 'queued' THEN 'stopped' ELSE state END
  WHERE id = run_id AND login = session_user AND state IN ('queued', 'running') RETURNING state, worker INTO stopped;
  IF stopped IS NULL THEN RETURN; END IF;
  IF stopped.state = 'stopped' THEN DELETE FROM self_generation.pool_specs WHERE run = run_id; END IF;
  PERFORM self_generation.pool_tell('run ' || run_id);
  PERFORM self_generation.pool_tell('worker ' || stopped.worker) WHERE stopped.worker IS NOT NULL;
END $$;

ALTER TABLE self_generation.pool_workers ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_generation.pool_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_generation.pool_specs ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_generation.pool_output ENABLE ROW LEVEL SECURITY;
CREATE POLICY pool_workers_seen ON self_generation.pool_workers FOR SELECT USING (self_generation.role_in(team) IS NOT NULL);
CREATE POLICY pool_runs_seen ON self_generation.pool_runs FOR SELECT USING (self_generation.role_in(team) IS NOT NULL);

-- Of the queue a member sees and takes what is of their own teams.
CREATE FUNCTION self_generation.may_queue(queue_name text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT self_generation.role_in(substring(queue_name FROM '^team-(\d{1,9})\.')::integer) IS NOT NULL
$$;
ALTER TABLE self_generation_queue.job_common ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_generation_queue.queue ENABLE ROW LEVEL SECURITY;
CREATE POLICY jobs_of_team ON self_generation_queue.job_common
  USING (self_generation.may_queue(name)) WITH CHECK (self_generation.may_queue(name));
CREATE POLICY queues_of_team ON self_generation_queue.queue FOR SELECT USING (self_generation.may_queue(name));

GRANT USAGE ON SCHEMA self_generation_queue TO self_generation_member;
GRANT SELECT ON self_generation_queue.version, self_generation_queue.queue TO self_generation_member;
GRANT SELECT, UPDATE, DELETE ON self_generation_queue.job_common TO self_generation_member;
GRANT SELECT (id, team, pool, login, name, slots, lost_after, started_at, heartbeat_at, ended_at)
  ON self_generation.pool_workers TO self_generation_member;
GRANT SELECT (id, team, pool, login, origin, turn, line, wanted, state, worker, created_at, taken_at, ended_at, stop_at, outcome, bytes)
  ON self_generation.pool_runs TO self_generation_member;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA self_generation, self_generation_queue FROM PUBLIC;
GRANT EXECUTE ON FUNCTION self_generation_queue.job_now() TO self_generation_member;
GRANT EXECUTE ON FUNCTION self_generation.may_queue(text), self_generation.pool_reap(),
  self_generation.pool_begin(uuid, uuid, text, text, text, integer, bigint), self_generation.pool_beat(uuid, uuid),
  self_generation.pool_claim(uuid, uuid, uuid), self_generation.pool_put(uuid, uuid, uuid, text, bigint, bytea),
  self_generation.pool_end(uuid, uuid, uuid, text, text, integer, text, bigint), self_generation.pool_leave(uuid, uuid),
  self_generation.pool_ask(uuid, text, text, text, integer, boolean, jsonb),
  self_generation.pool_read(uuid, bigint, bigint, bigint), self_generation.pool_stop(uuid) TO self_generation_member;
