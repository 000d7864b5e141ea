/**
 * Makes the tables that are not there yet. What is appended costs a verdict next to nothing; each page at a random place is a
 * page of the log. So there are few trees that are sorted by payers, and those have short rows: states lie in the order
 * in which payers came, the journal finds a payer's verdicts by the positions of its decisions, and tables whose rows
 * are kept for longer again and again have no index by time.
 */
export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS clients (
    client TEXT PRIMARY KEY, state TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS decisions (
    position INTEGER PRIMARY KEY, client TEXT NOT NULL, seq INTEGER NOT NULL, platform TEXT NOT NULL,
    order_ref TEXT NOT NULL, at INTEGER NOT NULL, record TEXT NOT NULL, expires_at INTEGER NOT NULL,
    UNIQUE (client, seq)
  ) STRICT;
  CREATE INDEX IF NOT EXISTS decisions_order ON decisions (platform, order_ref, at);
  CREATE INDEX IF NOT EXISTS decisions_time ON decisions (platform, at);
  CREATE INDEX IF NOT EXISTS decisions_expiry ON decisions (expires_at);
  CREATE TABLE IF NOT EXISTS shapes (id TEXT PRIMARY KEY, shape TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS orders (
    client TEXT NOT NULL, order_token TEXT NOT NULL, outcome TEXT NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (client, order_token)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS orders_expiry ON orders (expires_at);
  CREATE TABLE IF NOT EXISTS answers (
    client TEXT NOT NULL, idempotency_key TEXT NOT NULL, seq INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (client, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS answers_expiry ON answers (expires_at);
  CREATE TABLE IF NOT EXISTS claims (
    platform TEXT NOT NULL, idempotency_key TEXT NOT NULL, request_hash TEXT NOT NULL,
    expires_at INTEGER NOT NULL, PRIMARY KEY (platform, idempotency_key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS claims_expiry ON claims (expires_at);
  CREATE TABLE IF NOT EXISTS sightings (
    device TEXT NOT NULL, client TEXT NOT NULL, at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (device, client)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS sightings_time ON sightings (device, at);
  CREATE INDEX IF NOT EXISTS sightings_client ON sightings (client);
  CREATE TABLE IF NOT EXISTS documents (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, expires_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS documents_expiry ON documents (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS registers (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS versions (
    name TEXT PRIMARY KEY, version TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tallies (
    tally TEXT NOT NULL, field TEXT NOT NULL, count INTEGER NOT NULL, expires_at INTEGER NOT NULL,
    PRIMARY KEY (tally, field)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS journal (
    position INTEGER PRIMARY KEY AUTOINCREMENT, client TEXT, entry TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS journal_client ON journal (client) WHERE client IS NOT NULL;
  CREATE TABLE IF NOT EXISTS unshipped_erasures (position INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT, previous TEXT NOT NULL, hash TEXT NOT NULL, body TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS audit_payers (
    number INTEGER PRIMARY KEY, client TEXT NOT NULL, text TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS audit_payers_client ON audit_payers (client);
  CREATE TABLE IF NOT EXISTS list_records (
    id TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT, removed_at INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS list_records_version ON list_records (version);
  CREATE INDEX IF NOT EXISTS list_records_removal ON list_records (removed_at) WHERE removed_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS list_head (
    only INTEGER PRIMARY KEY CHECK (only = 1), latest INTEGER NOT NULL, horizon INTEGER NOT NULL,
    epoch TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS journal_loss (
    only INTEGER PRIMARY KEY CHECK (only = 1), entries INTEGER NOT NULL, from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL, last_position INTEGER NOT NULL
  ) STRICT;
`;
