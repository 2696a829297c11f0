SELECT Name, ROUND(Population * 1.0 / NULLIF(SurfaceArea, 0), 2) AS density FROM country ORDER BY density DESC, Code LIMIT 20;
SELECT c.Name, (SELECT group_concat(Language, ',') FROM (SELECT Language FROM countrylanguage cl WHERE cl.CountryCode = c.Code AND cl.IsOfficial = 'T' ORDER BY Language)) AS languages FROM country c WHERE c.Continent = 'South America' ORDER BY c.Code;
SELECT Code, concat_ws('/', Continent, Region, Name) AS path FROM country ORDER BY Code LIMIT 10;
SELECT CountryCode, COUNT(*) AS n FROM city GROUP BY CountryCode HAVING n > 200 ORDER BY n DESC;
SELECT IsOfficial == 'T' AS official, AVG(Percentage) AS p FROM countrylanguage GROUP BY official ORDER BY official;
SELECT Name, MAX(Population) FROM city;
