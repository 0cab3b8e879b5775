from django.urls import path

from bookshop import coupons, lists, views

urlpatterns = [
    path("api/session/", views.SessionView.as_view()),
    path("api/token/", views.TokenView.as_view()),
    path("api/books/", views.NewBookView.as_view()),
    path("api/books/<int:pk>/", views.BookView.as_view()),
    path("api/books/pages/", lists.NumberedBooks.as_view()),
    path("api/books/offsets/", lists.OffsetBooks.as_view()),
    path("api/books/cursor/", lists.CursorBooks.as_view()),
    path("api/picture/", views.PictureView.as_view()),
    path("api/orders/", views.OrderView.as_view()),
    path("api/reports/", views.ReportView.as_view()),
    path("legacy/coupons/", coupons.coupons),
    path("legacy/shipping/", coupons.shipping),
]
