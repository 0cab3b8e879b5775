"""The same 137 books in the three paginations of Django REST framework."""

from rest_framework.authentication import SessionAuthentication, TokenAuthentication
from rest_framework.generics import ListAPIView
from rest_framework.pagination import CursorPagination, LimitOffsetPagination, PageNumberPagination

from bookshop.models import Book
from bookshop.views import BookSerializer


class Numbers(PageNumberPagination):
    page_size = 10
    page_size_query_param = "page_size"
    max_page_size = 25


class Offsets(LimitOffsetPagination):
    default_limit = 10
    max_limit = 25


class Cursors(CursorPagination):
    page_size = 20
    ordering = "id"


class NumberedBooks(ListAPIView):
    authentication_classes = [TokenAuthentication, SessionAuthentication]
    serializer_class = BookSerializer
    pagination_class = Numbers

    def get_queryset(self):
        return Book.objects.filter(shelf=self.request.query_params.get("shelf", "")).order_by("id")


class OffsetBooks(NumberedBooks):
    pagination_class = Offsets


class CursorBooks(NumberedBooks):
    pagination_class = Cursors
