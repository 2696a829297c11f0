-- +goose Up
CREATE TABLE IF NOT EXISTS agent_scope (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  scope_code VARCHAR(64) NOT NULL,
  scope_name VARCHAR(190) NOT NULL,
  status SMALLINT NOT NULL DEFAULT 1,
  create_time DATETIME(6) NOT NULL,
  modify_time DATETIME(6) NULL,
  CONSTRAINT agent_scope_code UNIQUE (scope_code)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS agent_scope;
