"""The application, with its tables, its users and 137 books on the shelf "main"."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "bookshop.settings"
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import connections

from bookshop.models import Book

call_command("migrate", run_syncdb=True, verbosity=0)
# Each test has its own user, because tokens and throttles are those of a user.
for name in ("ada", "bob", "carl", "dora", "emil", "fay", "gus"):
    User.objects.create_user(name, password="correct horse")
Book.objects.bulk_create(
    Book(shelf="main", title=f"Book {number}", isbn=f"main-{number}", cents=100 + number)
    for number in range(1, 138)
)
# A worker has connections of its own.
connections.close_all()

application = get_wsgi_application()
