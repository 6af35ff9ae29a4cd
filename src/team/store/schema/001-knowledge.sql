-- What a team shares, in a PostgreSQL of its own. History alone: facts are added, never changed or removed; what they come to
-- is worked out by who reads them. A login is a person. Rights have two locks: a group role of the server, granted by whoever
-- runs it, and a row in `members`, written by the team's owner. All of it belongs to a role as which nobody can log in.

-- `epoch`: another one means another server, or one that was set up anew. `key_check`: by which a member sees that the key is
-- the team's; the key itself is on no server.
CREATE TABLE self_generation.teams (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
  key_check text NOT NULL CHECK (key_check ~ '^[0-9a-f]{64}$'),
  epoch uuid NOT NULL DEFAULT gen_random_uuid(),
  created_by name NOT NULL DEFAULT session_user,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE self_generation.members (
  team integer NOT NULL REFERENCES self_generation.teams (id),
  login name NOT NULL,
  role text NOT NULL CHECK (role IN ('member', 'reviewer', 'owner')),
  added_by name NOT NULL DEFAULT session_user,
  added_at timestamptz NOT NULL DEFAULT now(),
  removed_at timestamptz,
  PRIMARY KEY (team, login)
);

-- `id`: what the fact is, as a sum of its content or made for it, so that the same fact of an author is added once. `about`: the lesson or rule.
-- `repository`: an HMAC under the team's key; all zeros for what is about none.
CREATE SEQUENCE self_generation.facts_seq;
CREATE TABLE self_generation.facts (
  seq bigint PRIMARY KEY,
  team integer NOT NULL REFERENCES self_generation.teams (id),
  author name NOT NULL DEFAULT session_user,
  role text NOT NULL,
  id text NOT NULL CHECK (id ~ '^[0-9a-f]{64}$'),
  kind text NOT NULL CHECK (kind ~ '^[a-z-]{1,20}$'),
  repository text NOT NULL CHECK (repository ~ '^[0-9a-f]{64}$'),
  about text NOT NULL CHECK (about ~ '^[0-9a-f]{64}$'),
  body jsonb NOT NULL CHECK (jsonb_typeof(body) = 'object' AND octet_length(body::text) <= 16384),
  at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (team, author, id)
);
CREATE INDEX facts_pulled ON self_generation.facts (team, repository, seq);
CREATE INDEX facts_about ON self_generation.facts (team, about, seq);

-- The role of who is connected, in a team; NULL: in none. Of the session, whatever role it has taken on.
CREATE FUNCTION self_generation.role_in(team_id integer) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT role FROM self_generation.members
  WHERE team = team_id AND login = session_user AND removed_at IS NULL
$$;

-- The teams of who is connected. In a policy, as a set that is asked for once and not for each row.
CREATE FUNCTION self_generation.own_teams() RETURNS SETOF integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT team FROM self_generation.members WHERE login = session_user AND removed_at IS NULL
$$;

-- A reviewer by both locks.
CREATE FUNCTION self_generation.may_review(team_id integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT self_generation.role_in(team_id) IN ('reviewer', 'owner')
    AND pg_has_role(session_user, 'self_generation_reviewer', 'MEMBER')
$$;

CREATE FUNCTION self_generation.may_own(team_id integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT self_generation.role_in(team_id) = 'owner' AND pg_has_role(session_user, 'self_generation_owner', 'MEMBER')
$$;

-- Who shared it first: sharing it as well gives nobody a say in its end.
CREATE FUNCTION self_generation.has_shared(team_id integer, lesson text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
  SELECT COALESCE((
    SELECT author = session_user FROM self_generation.facts
    WHERE team = team_id AND about = lesson AND kind IN ('lesson', 'rule') ORDER BY seq LIMIT 1
  ), false)
$$;

-- Who wrote a fact, in which role and when is the server's word, whatever a client says. One writer of a team at a time: then
-- the numbers are in the order in which they become visible, and who reads from a number on misses none. Only who may write to
-- the team can hold that lock. Behind a snapshot somebody who has been removed would be a member still.
CREATE FUNCTION self_generation.stamp_fact() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'facts are added in a transaction that reads what is committed' USING ERRCODE = '42501';
  END IF;
  IF self_generation.role_in(NEW.team) IS NULL THEN
    RAISE EXCEPTION '% is no member of this team', session_user USING ERRCODE = '42501';
  END IF;
  PERFORM FROM self_generation.teams WHERE id = NEW.team FOR NO KEY UPDATE;
  NEW.seq := nextval('self_generation.facts_seq');
  NEW.author := session_user;
  NEW.role := CASE WHEN self_generation.may_own(NEW.team) THEN 'owner'
    WHEN self_generation.may_review(NEW.team) THEN 'reviewer' ELSE 'member' END;
  NEW.at := clock_timestamp();
  RETURN NEW;
END $$;
CREATE TRIGGER facts_stamped BEFORE INSERT ON self_generation.facts
  FOR EACH ROW EXECUTE FUNCTION self_generation.stamp_fact();

CREATE FUNCTION self_generation.refuse_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION '% is history: rows are added, never changed or removed', TG_TABLE_NAME USING ERRCODE = '42501';
END $$;
CREATE TRIGGER facts_are_history BEFORE UPDATE OR DELETE OR TRUNCATE ON self_generation.facts
  FOR EACH STATEMENT EXECUTE FUNCTION self_generation.refuse_change();

-- Who makes a team owns it.
CREATE FUNCTION self_generation.own_team() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO self_generation.members (team, login, role) VALUES (NEW.id, session_user, 'owner');
  RETURN NULL;
END $$;
CREATE TRIGGER teams_owned AFTER INSERT ON self_generation.teams
  FOR EACH ROW EXECUTE FUNCTION self_generation.own_team();

ALTER TABLE self_generation.teams ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_generation.members ENABLE ROW LEVEL SECURITY;
ALTER TABLE self_generation.facts ENABLE ROW LEVEL SECURITY;

CREATE POLICY teams_seen ON self_generation.teams FOR SELECT
  USING (id IN (SELECT self_generation.own_teams()));
CREATE POLICY teams_made ON self_generation.teams FOR INSERT WITH CHECK (created_by = session_user);

CREATE POLICY members_seen ON self_generation.members FOR SELECT
  USING (team IN (SELECT self_generation.own_teams()));
CREATE POLICY members_added ON self_generation.members FOR INSERT
  WITH CHECK (self_generation.may_own(team) AND added_by = session_user);
CREATE POLICY members_changed ON self_generation.members FOR UPDATE
  USING (self_generation.may_own(team)) WITH CHECK (self_generation.may_own(team));

CREATE POLICY facts_seen ON self_generation.facts FOR SELECT
  USING (team IN (SELECT self_generation.own_teams()));
-- Withdrawing what others share, and restoring, is for reviewers; a contradiction is what a member's own log measured.
CREATE POLICY facts_added ON self_generation.facts FOR INSERT WITH CHECK (
  team IN (SELECT self_generation.own_teams()) AND author = session_user
  AND CASE kind
    WHEN 'withdraw' THEN self_generation.may_review(team) OR self_generation.has_shared(team, about)
    WHEN 'restore' THEN self_generation.may_review(team)
    ELSE true
  END
);

GRANT USAGE ON SCHEMA self_generation TO self_generation_member;
GRANT SELECT ON self_generation.teams, self_generation.members, self_generation.facts TO self_generation_member;
GRANT INSERT (team, id, kind, repository, about, body) ON self_generation.facts TO self_generation_member;
GRANT INSERT (name, key_check) ON self_generation.teams TO self_generation_owner;
GRANT INSERT (team, login, role), UPDATE (role, removed_at) ON self_generation.members TO self_generation_owner;
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA self_generation FROM PUBLIC;
GRANT EXECUTE ON FUNCTION self_generation.role_in(integer), self_generation.own_teams(), self_generation.may_review(integer),
  self_generation.may_own(integer), self_generation.has_shared(integer, text) TO self_generation_member;
