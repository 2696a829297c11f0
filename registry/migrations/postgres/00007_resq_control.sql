-- +goose Up
CREATE TABLE IF NOT EXISTS resq_control (
  id SMALLINT NOT NULL PRIMARY KEY,
  version BIGINT NOT NULL
);
INSERT INTO resq_control (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING;

-- +goose Down
DROP TABLE IF EXISTS resq_control;
