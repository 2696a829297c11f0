-- +goose Up
CREATE TABLE IF NOT EXISTS token_scope (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  token_id BIGINT NOT NULL,
  scope_id BIGINT NOT NULL,
  create_time DATETIME(6) NOT NULL,
  modify_time DATETIME(6) NULL,
  CONSTRAINT token_scope_pair UNIQUE (token_id, scope_id),
  CONSTRAINT token_scope_token FOREIGN KEY (token_id) REFERENCES agent_api_key (id) ON DELETE CASCADE,
  CONSTRAINT token_scope_scope FOREIGN KEY (scope_id) REFERENCES agent_scope (id) ON DELETE CASCADE,
  INDEX token_scope_scope_id (scope_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS token_scope;
