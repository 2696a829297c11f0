-- +goose Up
CREATE TABLE IF NOT EXISTS agent_api_key (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  ak_sha256 CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  ak_cipher TEXT NOT NULL,
  ak_prefix VARCHAR(32) NOT NULL,
  name VARCHAR(190) NOT NULL,
  user_id VARCHAR(64) NULL,
  principal_type VARCHAR(32) NULL,
  principal VARCHAR(190) NULL,
  status SMALLINT NOT NULL DEFAULT 1,
  expire_time DATETIME(6) NULL,
  last_used_time DATETIME(6) NULL,
  create_time DATETIME(6) NOT NULL,
  modify_time DATETIME(6) NULL,
  CONSTRAINT agent_api_key_sha256 UNIQUE (ak_sha256),
  INDEX agent_api_key_user (user_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS agent_api_key;
