-- +goose Up
CREATE TABLE IF NOT EXISTS resq_admin (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name VARCHAR(64) NOT NULL,
  role VARCHAR(16) NOT NULL,
  password VARCHAR(190) NOT NULL,
  status INTEGER NOT NULL DEFAULT 1,
  create_time TEXT NOT NULL,
  modify_time TEXT NULL,
  login_time TEXT NULL,
  CONSTRAINT resq_admin_name UNIQUE (name)
);

-- +goose Down
DROP TABLE IF EXISTS resq_admin;
