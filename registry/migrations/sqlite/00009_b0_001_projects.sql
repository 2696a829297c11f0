-- What this step and the next make has the revisions of the registry's own description, under which other tools know it.
-- +goose Up
CREATE TABLE IF NOT EXISTS alembic_version (
  version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO alembic_version (version_num) VALUES ('b0_001_projects') ON CONFLICT (version_num) DO NOTHING;
CREATE TABLE IF NOT EXISTS resources (
  resource_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  resource_type TEXT NOT NULL,
  connection TEXT NULL,
  config_yaml TEXT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CONSTRAINT uq_resources_name UNIQUE (name)
);

-- +goose Down
DROP TABLE IF EXISTS resources;
DROP TABLE IF EXISTS alembic_version;
