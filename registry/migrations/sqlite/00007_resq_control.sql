-- +goose Up
CREATE TABLE IF NOT EXISTS resq_control (
  id INTEGER NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL
);
INSERT INTO resq_control (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING;

-- +goose Down
DROP TABLE IF EXISTS resq_control;
