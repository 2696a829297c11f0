-- The office: what is written in the cases of testdata/writes.
CREATE TABLE team (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, parent_id INTEGER REFERENCES team (id));
CREATE TABLE person (
  id INTEGER PRIMARY KEY, name VARCHAR(50) NOT NULL, email VARCHAR(80) UNIQUE, phone VARCHAR(20), team_id INTEGER NOT NULL,
  salary DECIMAL(10,2), active BOOLEAN DEFAULT 1, joined DATE, hours DOUBLE, notes JSON, level VARCHAR(10) NOT NULL DEFAULT 'junior',
  secret VARCHAR(40), created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, created_user INTEGER,
  FOREIGN KEY (team_id) REFERENCES team (id));
CREATE TABLE task (
  id INTEGER PRIMARY KEY, title VARCHAR(80) NOT NULL, person_id INTEGER NOT NULL, due DATETIME, minutes INTEGER DEFAULT 30 CHECK (minutes >= 0), stamp VARCHAR(20),
  FOREIGN KEY (person_id) REFERENCES person (id) ON DELETE CASCADE);
CREATE TABLE note (id INTEGER PRIMARY KEY, title VARCHAR(40) NOT NULL, team_id INTEGER NOT NULL, enabled INTEGER NOT NULL DEFAULT 1, deleted_at DATETIME);
CREATE TABLE badge (id INTEGER PRIMARY KEY, code VARCHAR(10) NOT NULL, removed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE counter (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL, n INTEGER NOT NULL);
CREATE TABLE ledger (id INTEGER PRIMARY KEY, account VARCHAR(20) NOT NULL, amount DECIMAL(12,2) NOT NULL, tenant VARCHAR(10), enabled INTEGER NOT NULL);
CREATE TABLE payout (id INTEGER PRIMARY KEY, account VARCHAR(20) NOT NULL, amount DECIMAL(12,2) NOT NULL, rev INTEGER NOT NULL DEFAULT 1);
CREATE TRIGGER task_stamp AFTER INSERT ON task BEGIN UPDATE task SET stamp = UPPER(NEW.title) WHERE id = NEW.id; END;
INSERT INTO team (name, parent_id) VALUES ('North', NULL), ('South', NULL), ('North A', 1);
INSERT INTO person (name, email, phone, team_id, salary, active, joined, hours, notes, level, secret, created_at, updated_at, created_user) VALUES
  ('Ann', 'ann@example.test', '13812345678', 1, 5000.00, 1, '2020-02-29', 7.5, '{"likes":["tea"]}', 'senior', 'x1', '2020-01-01 08:00:00', '2020-01-01 08:00:00', 1),
  ('Ben', 'ben@example.test', '13900001111', 1, 4000.50, 1, '2021-05-01', 8, NULL, 'junior', NULL, '2020-01-01 08:00:00', '2020-01-01 08:00:00', 1),
  ('Cid', 'cid@example.test', NULL, 2, NULL, 0, NULL, NULL, NULL, 'junior', 'x3', '2020-01-01 08:00:00', '2020-01-01 08:00:00', 2),
  ('Dee', NULL, '110', 2, 3000.00, 1, '2022-12-31', 0.1, NULL, 'senior', 'x4', '2020-01-01 08:00:00', '2020-01-01 08:00:00', 2);
INSERT INTO task (title, person_id, due, minutes) VALUES ('Plan', 1, '2024-06-20 09:00:00', 60), ('Build', 1, NULL, 120), ('Test', 2, NULL, 30), ('Ship', 3, NULL, 15);
INSERT INTO note (title, team_id, enabled, deleted_at) VALUES ('open', 1, 1, NULL), ('gone', 1, 0, '2023-01-01 00:00:00'), ('far', 2, 1, NULL);
INSERT INTO badge (code, removed) VALUES ('A', 0), ('B', 1);
INSERT INTO counter (name, n) VALUES ('visits', 10), ('errors', 0);
INSERT INTO payout (account, amount) VALUES ('cash', 100.00), ('bank', 250.50);
