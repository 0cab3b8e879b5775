from django.core.validators import MinValueValidator
from django.db import models


class Book(models.Model):
    shelf = models.CharField(max_length=20, default="drafts")
    title = models.CharField(max_length=40)
    isbn = models.CharField(max_length=20, unique=True)
    cents = models.IntegerField(validators=[MinValueValidator(1)])
