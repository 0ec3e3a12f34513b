"""What every SQL store shares: tables, statements, one transaction's verbs, migrations.

A store of another dialect (SQLite has one beside this folder) brings its connections, its way to begin, and the
translation of its driver's errors. Import these modules only when a store is opened: they load SQLAlchemy.
"""
