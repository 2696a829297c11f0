SELECT continent, region, SUM(population) AS people FROM country GROUP BY continent, region WITH ROLLUP;
SELECT name, ROUND(population / NULLIF(surfacearea, 0), 2) AS density FROM country ORDER BY density DESC, code LIMIT 20;
SELECT c.name, (SELECT GROUP_CONCAT(language ORDER BY language) FROM countrylanguage cl WHERE cl.countrycode = c.code AND cl.isofficial = 'T') AS languages FROM country c WHERE c.continent = 'South America' ORDER BY c.code;
SELECT name FROM country WHERE name REGEXP '^[^aeiou]+$' OR name LIKE '%stan' ORDER BY code;
SELECT code, CONCAT_WS('/', continent, region, name) AS path, ASCII(code) AS a, CHAR(65 USING utf8mb4) AS b FROM country ORDER BY code LIMIT 10;
SELECT countrycode, COUNT(*) AS n FROM city GROUP BY countrycode HAVING n > 200 ORDER BY n DESC;
SELECT isofficial = 'T' AS official, AVG(percentage) AS p FROM countrylanguage GROUP BY official ORDER BY official;
