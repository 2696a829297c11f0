-- The second connection.
CREATE TABLE region (code VARCHAR(10) NOT NULL PRIMARY KEY, title VARCHAR(50) NOT NULL, dept_id INT NOT NULL);
INSERT INTO region VALUES ('north', 'North', 10), ('south', 'South', 20), ('west', 'West', 10);
