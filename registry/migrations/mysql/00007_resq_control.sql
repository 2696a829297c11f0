-- +goose Up
CREATE TABLE IF NOT EXISTS resq_control (
  id SMALLINT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT IGNORE INTO resq_control (id, version) VALUES (1, 0);

-- +goose Down
DROP TABLE IF EXISTS resq_control;
