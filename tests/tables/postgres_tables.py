"""Arrow tables copied into a real PostgreSQL."""

from __future__ import annotations

import pyarrow as pa
from postgres_server import PostgresServer

_POSTGRES_TYPES = {
    "int64": "bigint",
    "int32": "integer",
    "string": "text",
    "double": "double precision",
    "decimal128(10, 2)": "numeric(10,2)",
    "bool": "boolean",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
}


def write_postgres(server: PostgresServer, database: str, table: pa.Table, name: str) -> str:
    """Copy an Arrow table into a fresh database; returns the URL that names it."""
    import psycopg
    from psycopg import sql

    url = server.new_database(database)
    columns = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_POSTGRES_TYPES[str(field.type)]))
        for field in table.schema
    )
    places = sql.SQL(", ").join([sql.Placeholder()] * table.num_columns)
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), columns))
        rows = [tuple(row.values()) for row in table.to_pylist()]
        cursor.executemany(sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(name), places), rows)
    return f"{url}?table={name}"
