-- What this step and the next make has the revisions of the registry's own description, under which other tools know it.
-- +goose Up
CREATE TABLE IF NOT EXISTS alembic_version (
  version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO alembic_version (version_num) VALUES ('b0_001_projects');
CREATE TABLE IF NOT EXISTS resources (
  resource_id VARCHAR(26) NOT NULL PRIMARY KEY,
  name VARCHAR(190) NOT NULL,
  resource_type VARCHAR(190) NOT NULL,
  connection VARCHAR(190) NULL,
  config_yaml MEDIUMTEXT NULL,
  created_at VARCHAR(40) NOT NULL,
  updated_at VARCHAR(40) NOT NULL,
  CONSTRAINT uq_resources_name UNIQUE (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS resources;
DROP TABLE IF EXISTS alembic_version;
