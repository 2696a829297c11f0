-- The shop of the case files, for SQLite. The three files of this directory hold the same rows.

-- The departments are a tree with a root, an orphan, a cycle of two and a department that is its own parent.
CREATE TABLE dept (
  id INTEGER NOT NULL PRIMARY KEY,
  name VARCHAR(50) NOT NULL,
  parent_id INTEGER NOT NULL
);
INSERT INTO dept VALUES
  (1, 'HQ', 0), (10, 'Sales', 1), (20, 'R&D', 1), (30, 'Support', 10), (31, 'Hotline', 30),
  (40, 'Orphan', 99), (50, 'Loop A', 51), (51, 'Loop B', 50), (60, 'Self', 60);

-- Users 3 and 4 belong to another department than the usual principal, 8 to none; texts hold a quote,
-- Chinese, and the characters that LIKE treats as special.
CREATE TABLE usr (
  id INTEGER NOT NULL PRIMARY KEY,
  name VARCHAR(100) NOT NULL,
  email VARCHAR(100) NULL,
  phone VARCHAR(20) NULL,
  status INTEGER NOT NULL,
  dept_id INTEGER NULL,
  manager_id INTEGER NULL,
  salary DECIMAL(12,2) NULL,
  active BOOLEAN NULL,
  birthday DATE NULL,
  created_at DATETIME NOT NULL
);
INSERT INTO usr VALUES
  (1, 'Alice', 'alice@shop.test', '13800005678', 1, 10, NULL, 9000.00, TRUE, '1990-05-17', '2024-01-10 08:00:00'),
  (2, 'Bob', 'bob@shop.test', '13900001234', 1, 10, 1, 7000.50, TRUE, '1985-12-31', '2024-02-11 09:30:00'),
  (3, 'Carol', 'carol@shop.test', '13700009999', 1, 20, 1, 12000.00, TRUE, NULL, '2024-03-12 10:00:00'),
  (4, 'Dan', 'dan@shop.test', '13600008888', 2, 20, 3, NULL, FALSE, '2000-02-29', '2024-03-31 23:30:00'),
  (5, 'Erin O''Neil', NULL, NULL, 0, 10, 2, 500.00, FALSE, '1999-01-01', '2024-04-01 00:30:00'),
  (6, '李雷', 'lilei@shop.test', '12', 1, 30, 2, 8000.00, TRUE, '1995-10-01', '2024-05-05 00:00:00'),
  (7, 'Frank', 'frank@shop.test', '15000000000', 1, 10, 2, 7000.50, TRUE, '1985-12-31', '2024-06-01 12:00:00'),
  (8, '50%_off\', 'pct@shop.test', '16000000001', 9, NULL, NULL, 0.00, NULL, NULL, '2023-12-31 23:59:59');

-- A reserved word as a table. Orders 1 to 6 belong to department 10 and add up to 436.05; 7 to 9 belong to
-- department 20 and hold the extremes; 10 has no owner.
CREATE TABLE "order" (
  id INTEGER NOT NULL PRIMARY KEY,
  order_no VARCHAR(32) NOT NULL,
  user_id INTEGER NULL,
  amount DECIMAL(12,2) NOT NULL,
  discount DECIMAL(5,4) NULL,
  status VARCHAR(10) NOT NULL CHECK (status IN ('new', 'paid', 'shipped', 'void')),
  paid BOOLEAN NULL,
  placed_at DATETIME NOT NULL
);
INSERT INTO "order" VALUES
  (1, 'A-001', 1, 100.00, 0.1000, 'paid', TRUE, '2024-02-01 10:00:00'),
  (2, 'A-002', 1, 250.50, NULL, 'shipped', TRUE, '2024-02-02 11:30:00'),
  (3, 'A-003', 2, 75.25, 0.0500, 'new', FALSE, '2024-02-29 23:59:59'),
  (4, 'A-004', 5, 10.00, NULL, 'void', NULL, '2024-03-01 00:00:00'),
  (5, 'A-005', 7, 0.10, NULL, 'paid', TRUE, '2024-03-15 12:00:00'),
  (6, 'A-006', 7, 0.20, 0.2500, 'paid', TRUE, '2024-12-31 23:59:59'),
  (7, 'B-001', 3, 9999.99, NULL, 'paid', TRUE, '2024-02-07 00:00:00'),
  (8, 'B-002', 4, 5000.00, 0.0000, 'shipped', TRUE, '2025-01-01 00:00:00'),
  (9, 'B-003', 3, 1.00, NULL, 'new', FALSE, '2024-02-09 08:15:30'),
  (10, 'C-001', NULL, 42.00, NULL, 'paid', NULL, '2024-02-10 00:00:00');

-- A composite key.
CREATE TABLE order_item (
  order_id INTEGER NOT NULL,
  line INTEGER NOT NULL,
  product_id INTEGER NOT NULL,
  qty INTEGER NOT NULL,
  price DECIMAL(12,2) NOT NULL,
  PRIMARY KEY (order_id, line)
);
INSERT INTO order_item VALUES
  (1, 1, 1, 2, 30.00), (1, 2, 2, 1, 40.00), (2, 1, 3, 5, 50.10), (3, 1, 1, 1, 30.00), (3, 2, 4, 3, 15.00),
  (5, 1, 5, 1, 0.10), (6, 1, 5, 2, 0.10), (7, 1, 3, 100, 99.99), (9, 1, 2, 1, 1.00), (10, 1, 1, 1, 42.00);

-- JSON columns: lists of texts, an empty list, a list of mixed types, objects, NULL.
CREATE TABLE product (
  id INTEGER NOT NULL PRIMARY KEY,
  sku VARCHAR(20) NOT NULL UNIQUE,
  name VARCHAR(50) NOT NULL,
  category_code VARCHAR(20) NULL,
  price DECIMAL(10,2) NOT NULL,
  weight DOUBLE NULL,
  tags JSON NULL,
  attrs JSON NULL,
  discontinued BOOLEAN NOT NULL
);
INSERT INTO product VALUES
  (1, 'D-1', 'Desk', 'office', 30.00, 12.5, '["wood","large"]', '{"legs":4,"color":"oak"}', FALSE),
  (2, 'L-1', 'Lamp', 'office', 40.00, 0.75, '["light"]', '{"color":"red"}', FALSE),
  (3, 'C-1', 'Chair', 'seat', 50.10, 7.0, '["wood"]', '{}', FALSE),
  (4, 'S-1', 'Stool', 'seat', 15.00, NULL, '[]', NULL, FALSE),
  (5, 'P-1', 'Pen', 'small', 0.10, 0.01, '[1,2,"3"]', '{"ink":["blue","black"]}', FALSE),
  (6, 'G-1', 'Ghost', NULL, 0.00, 0, NULL, NULL, TRUE);

-- A tree over texts: one parent is NULL, one is empty, one does not exist.
CREATE TABLE category (
  code VARCHAR(20) NOT NULL PRIMARY KEY,
  parent_code VARCHAR(20) NULL,
  title VARCHAR(50) NOT NULL
);
INSERT INTO category VALUES
  ('all', NULL, 'Everything'), ('office', 'all', 'Office'), ('seat', 'office', 'Seats'), ('small', 'all', 'Small'),
  ('lost', 'gone', 'Lost'), ('void', '', 'Void');

-- Dates, points in time, times of day, all of them NULL once.
CREATE TABLE event (
  id INTEGER NOT NULL PRIMARY KEY,
  title VARCHAR(50) NOT NULL,
  day DATE NULL,
  starts_at DATETIME NULL,
  at_time TIME NULL,
  minutes INTEGER NOT NULL,
  follows_id INTEGER NULL
);
INSERT INTO event VALUES
  (1, 'Opening', '2024-02-29', '2024-02-29 09:00:00', '09:00:00', 60, NULL),
  (2, 'Lunch', '2024-02-29', '2024-02-29 12:30:00', '12:30:00', 90, 1),
  (3, 'Keynote', '2024-03-01', '2024-03-01 10:15:30', '10:15:30', 45, 2),
  (4, 'Party', '2024-12-31', '2024-12-31 23:59:59', '23:59:59', 240, NULL),
  (5, 'To be announced', NULL, NULL, NULL, 0, NULL),
  (6, 'Encore', '2025-01-01', '2025-01-01 00:00:00', '00:00:00', 30, 4);

-- No key, and a row that is there twice.
CREATE TABLE log_line (level VARCHAR(10) NULL, msg VARCHAR(100) NULL, n INTEGER NULL);
INSERT INTO log_line VALUES
  ('info', 'start', 1), ('info', 'start', 1), ('warn', NULL, NULL), (NULL, NULL, NULL), ('error', 'it''s "bad" \ here', 3);

CREATE TABLE stock (
  warehouse VARCHAR(10) NOT NULL,
  product_id INTEGER NOT NULL,
  qty INTEGER NOT NULL,
  reserved INTEGER NULL,
  PRIMARY KEY (warehouse, product_id)
);
INSERT INTO stock VALUES ('N', 1, 5, 1), ('N', 2, 0, 0), ('S', 1, 7, 7), ('S', 3, 2, NULL);

-- Soft-deleted by a time, and by a flag.
CREATE TABLE doc (
  id INTEGER NOT NULL PRIMARY KEY,
  title VARCHAR(50) NOT NULL,
  dept_id INTEGER NULL,
  enabled INTEGER NOT NULL,
  deleted_at DATETIME NULL
);
INSERT INTO doc VALUES
  (1, 'Plan', 10, 1, NULL), (2, 'Old plan', 10, 0, '2024-01-01 00:00:00'), (3, 'Spec', 20, 1, NULL),
  (4, 'Old spec', 20, 0, '2024-01-02 00:00:00'), (5, 'Note', NULL, 0, NULL);
CREATE TABLE coupon (code VARCHAR(10) NOT NULL PRIMARY KEY, dept_id INTEGER NULL, removed INTEGER NOT NULL);
INSERT INTO coupon VALUES ('X1', 10, 0), ('X2', 20, 1), ('X3', 30, 0);

-- Rows that a rule over a set of another connection picks.
CREATE TABLE ticket (id INTEGER NOT NULL PRIMARY KEY, title VARCHAR(50) NOT NULL, region_code VARCHAR(10) NULL);
INSERT INTO ticket VALUES (1, 'Leak', 'north'), (2, 'Noise', 'south'), (3, 'Light', 'east'), (4, 'Smell', NULL);

-- Numbers at the edges of what JSON clients can hold.
CREATE TABLE measure (id INTEGER NOT NULL PRIMARY KEY, big BIGINT NULL, ratio DOUBLE NULL);
INSERT INTO measure VALUES
  (1, 9007199254740991, 0.1), (2, 9007199254740992, -2.5), (3, 9223372036854775807, 1e300), (4, -9223372036854775807, 0), (5, NULL, NULL);

-- What only an auditor knows of.
CREATE TABLE audit_entry (id INTEGER NOT NULL PRIMARY KEY, actor VARCHAR(50) NOT NULL, action VARCHAR(50) NOT NULL);
INSERT INTO audit_entry VALUES (1, 'root', 'login'), (2, 'root', 'export');

-- Names that need quotes: Chinese, blanks, a dot, quotes, reserved words.
CREATE TABLE "库存 表" (
  "编 号" INTEGER NOT NULL PRIMARY KEY,
  "select" VARCHAR(20) NULL,
  "group" VARCHAR(20) NULL,
  "a.b" INTEGER NULL,
  "qu""ote" INTEGER NULL,
  "ba`ck" INTEGER NULL,
  "50%" DECIMAL(5,2) NULL
);
INSERT INTO "库存 表" VALUES (1, 'x', 'g1', 10, 2, 3, 12.50), (2, 'y', 'g1', NULL, NULL, NULL, -0.01), (3, '', 'g2', 0, 0, 0, 0.00);
