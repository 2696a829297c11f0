-- +goose Up
CREATE TABLE IF NOT EXISTS resq_admin_session (
  token_sha256 CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  admin_id BIGINT NOT NULL,
  create_time DATETIME(6) NOT NULL,
  seen_time DATETIME(6) NOT NULL,
  CONSTRAINT resq_admin_session_admin FOREIGN KEY (admin_id) REFERENCES resq_admin (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS resq_admin_session;
